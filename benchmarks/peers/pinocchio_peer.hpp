// pinocchio_peer.hpp -- what the programs share that time Pinocchio's C++: robots, samples and requests come in,
// seconds and results go out.
//
// A robot is the text written by pinocchio_cpp.py, so that it is rebuilt here by the same headers and compiler that
// time it. Each line on stdin is a request, answered by one line on stdout, so that the runner can alternate between
// contenders:
//
//   time ALGORITHM REPEATS    -> smallest and median seconds of one pass over all samples
//   write ALGORITHM FILE      -> the results as raw doubles in FILE, sample by sample
//
// Pinocchio is used header-only: nothing of the wheel's compiled library (another compiler, other flags) is linked.
#pragma once
#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <pinocchio/multibody.hpp>

namespace peer {

template <class T>
T read(std::istream& in) {
  T value;
  if (!(in >> value)) throw std::runtime_error("the input ends early or holds a malformed number");
  return value;
}

inline Eigen::Vector3d read_vector(std::istream& in) {
  const double x = read<double>(in), y = read<double>(in), z = read<double>(in);
  return {x, y, z};
}

inline Eigen::Matrix3d read_matrix(std::istream& in) {  // row-major
  Eigen::Matrix3d matrix;
  for (int row = 0; row < 3; ++row) matrix.row(row) = read_vector(in);
  return matrix;
}

inline pinocchio::SE3 read_placement(std::istream& in) {
  const Eigen::Matrix3d rotation = read_matrix(in);
  return {rotation, read_vector(in)};
}

inline pinocchio::JointModel make_joint(const std::string& type, const Eigen::Vector3d& axis) {
  using namespace pinocchio;
  if (type == "JointModelRX") return JointModelRX();
  if (type == "JointModelRY") return JointModelRY();
  if (type == "JointModelRZ") return JointModelRZ();
  if (type == "JointModelRevoluteUnaligned") return JointModelRevoluteUnaligned(axis);
  if (type == "JointModelPX") return JointModelPX();
  if (type == "JointModelPY") return JointModelPY();
  if (type == "JointModelPZ") return JointModelPZ();
  if (type == "JointModelPrismaticUnaligned") return JointModelPrismaticUnaligned(axis);
  if (type == "JointModelSpherical") return JointModelSpherical();
  if (type == "JointModelFreeFlyer") return JointModelFreeFlyer();
  throw std::runtime_error("no rule to rebuild a joint of type " + type);
}

// One line per joint: name, type, parent, axis, rotation (row-major), translation, mass, centre of mass, inertia about
// it (row-major), armature per freedom.
inline pinocchio::Model read_model(std::istream& in) {
  pinocchio::Model model;
  const int joints = read<int>(in);
  model.gravity.linear(read_vector(in));
  for (int i = 0; i < joints; ++i) {
    const auto name = read<std::string>(in), type = read<std::string>(in);
    const auto parent = read<std::size_t>(in);
    const Eigen::Vector3d axis = read_vector(in);
    const pinocchio::SE3 placement = read_placement(in);
    const auto mass = read<double>(in);
    const Eigen::Vector3d com = read_vector(in);
    const pinocchio::Inertia body(mass, com, pinocchio::Symmetric3(read_matrix(in)));

    const auto id = model.addJoint(parent, make_joint(type, axis), placement, name);
    model.appendBodyToJoint(id, body, pinocchio::SE3::Identity());
    for (int k = 0; k < model.nvs[id]; ++k) model.armature[model.idx_vs[id] + k] = read<double>(in);
  }
  return model;
}

// Raw doubles q (count x nq), v and x (count x nv each; x is tau or a).
struct Samples {
  std::vector<Eigen::VectorXd> q, v, x;

  Samples(std::istream& in, const pinocchio::Model& model, int count)
      : q(read_part(in, count, model.nq)), v(read_part(in, count, model.nv)), x(read_part(in, count, model.nv)) {}

 private:
  static std::vector<Eigen::VectorXd> read_part(std::istream& in, int count, int size) {
    std::vector<Eigen::VectorXd> samples(count, Eigen::VectorXd(size));
    for (auto& sample : samples)
      if (!in.read(reinterpret_cast<char*>(sample.data()), size * sizeof(double)))
        throw std::runtime_error("the sample file is shorter than COUNT samples");
    return samples;
  }
};

struct Algorithm {
  std::function<void()> sweep;                 // all samples, back to back
  std::function<Eigen::MatrixXd(int)> result;  // of one sample, complete
};

// `call(i)` computes sample i and returns a reference into Data; `finish` completes what it leaves out.
template <class Call, class Finish>
Algorithm algorithm(int count, Call call, Finish finish) {
  return {[=] {
            for (int i = 0; i < count; ++i) call(i);
          },
          [=](int i) -> Eigen::MatrixXd { return finish(call(i)); }};
}
inline Eigen::MatrixXd as_is(const Eigen::MatrixXd& value) { return value; }

inline void answer_time(const Algorithm& chosen, int repeats) {
  std::vector<double> seconds(std::max(1, repeats));
  for (double& s : seconds) {
    const auto start = std::chrono::steady_clock::now();
    chosen.sweep();
    s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::sort(seconds.begin(), seconds.end());
  std::cout << seconds.front() << ' ' << seconds[seconds.size() / 2] << std::endl;
}

inline void answer_write(const Algorithm& chosen, int count, const std::string& path) {
  std::ofstream out(path, std::ios::binary);
  for (int i = 0; i < count; ++i) {
    const Eigen::MatrixXd result = chosen.result(i);
    out.write(reinterpret_cast<const char*>(result.data()), result.size() * sizeof(double));
  }
  out.close();  // the answer below promises a complete file
  if (!out) throw std::runtime_error("could not write " + path);
  std::cout << "written" << std::endl;
}

// Until stdin ends. `find(in)` reads what names an algorithm, and returns it.
template <class Find>
void serve(int count, Find find) {
  std::cout.precision(9);
  std::string request;
  while (std::cin >> request) {
    const Algorithm& chosen = find(std::cin);
    if (request == "time")
      answer_time(chosen, read<int>(std::cin));
    else if (request == "write")
      answer_write(chosen, count, read<std::string>(std::cin));
    else
      throw std::runtime_error("unknown request " + request);
  }
}

}  // namespace peer
