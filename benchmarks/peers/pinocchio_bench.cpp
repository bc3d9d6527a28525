// pinocchio_bench.cpp -- times Pinocchio's C++ on the very samples the runner times featherweight on.
//
//   pinocchio_bench MODEL SAMPLES COUNT
//
// MODEL is the text written by pinocchio_cpp.py, so that the robot is rebuilt here by the same headers and compiler
// that time it; SAMPLES holds the raw doubles q (COUNT x nq), v and x (COUNT x nv each; x is tau or a). Then each line
// on stdin is a request, answered by one line on stdout, so that the runner can alternate between contenders:
//
//   time ALGORITHM REPEATS    -> smallest and median seconds of one pass over all samples
//   write ALGORITHM FILE      -> the results as raw doubles in FILE, sample by sample
//
// Pinocchio is used header-only: nothing of the wheel's compiled library (another compiler, other flags) is linked.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>

namespace {

using Eigen::VectorXd;
using pinocchio::Convention;

template <class T>
T read(std::istream& in) {
  T value;
  if (!(in >> value)) throw std::runtime_error("the model file ends early or holds a malformed number");
  return value;
}

Eigen::Vector3d read_vector(std::istream& in) {
  const double x = read<double>(in), y = read<double>(in), z = read<double>(in);
  return {x, y, z};
}

pinocchio::JointModel make_joint(const std::string& type, const Eigen::Vector3d& axis) {
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
pinocchio::Model read_model(std::istream& in) {
  pinocchio::Model model;
  const int joints = read<int>(in);
  model.gravity.linear(read_vector(in));
  for (int i = 0; i < joints; ++i) {
    const auto name = read<std::string>(in), type = read<std::string>(in);
    const auto parent = read<std::size_t>(in);
    const Eigen::Vector3d axis = read_vector(in);
    Eigen::Matrix3d rotation, inertia;
    for (int row = 0; row < 3; ++row) rotation.row(row) = read_vector(in);
    const Eigen::Vector3d translation = read_vector(in);
    const auto mass = read<double>(in);
    const Eigen::Vector3d com = read_vector(in);
    for (int row = 0; row < 3; ++row) inertia.row(row) = read_vector(in);

    const auto id = model.addJoint(parent, make_joint(type, axis), pinocchio::SE3(rotation, translation), name);
    const pinocchio::Inertia body(mass, com, pinocchio::Symmetric3(inertia));
    model.appendBodyToJoint(id, body, pinocchio::SE3::Identity());
    for (int k = 0; k < model.nvs[id]; ++k) model.armature[model.idx_vs[id] + k] = read<double>(in);
  }
  return model;
}

std::vector<VectorXd> read_samples(std::istream& in, int count, int size) {
  std::vector<VectorXd> samples(count, VectorXd(size));
  for (auto& sample : samples)
    if (!in.read(reinterpret_cast<char*>(sample.data()), size * sizeof(double)))
      throw std::runtime_error("the sample file is shorter than COUNT samples");
  return samples;
}

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

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) throw std::runtime_error("usage: pinocchio_bench MODEL SAMPLES COUNT");
  std::ifstream model_file(argv[1]), sample_file(argv[2], std::ios::binary);
  const int count = std::stoi(argv[3]);
  const pinocchio::Model model = read_model(model_file);
  pinocchio::Data data(model);
  const auto q = read_samples(sample_file, count, model.nq);
  const auto v = read_samples(sample_file, count, model.nv);
  const auto x = read_samples(sample_file, count, model.nv);

  const auto as_is = [](const auto& value) -> Eigen::MatrixXd { return value; };
  const auto symmetric = [](const auto& upper) -> Eigen::MatrixXd {
    return upper.template selfadjointView<Eigen::Upper>();
  };
  const auto aba = [&](Convention c) {
    return algorithm(count, [&, c](int i) -> auto& { return pinocchio::aba(model, data, q[i], v[i], x[i], c); }, as_is);
  };
  const auto crba = [&](Convention c) {
    return algorithm(count, [&, c](int i) -> auto& { return pinocchio::crba(model, data, q[i], c); }, symmetric);
  };
  const std::map<std::string, Algorithm> algorithms = {
      {"aba_local", aba(Convention::LOCAL)},
      {"aba_world", aba(Convention::WORLD)},
      {"crba_local", crba(Convention::LOCAL)},
      {"crba_world", crba(Convention::WORLD)},
      {"rnea", algorithm(
                   count, [&](int i) -> auto& { return pinocchio::rnea(model, data, q[i], v[i], x[i]); }, as_is)},
  };

  std::cout.precision(9);
  std::string request, name;
  while (std::cin >> request >> name) {
    const Algorithm& chosen = algorithms.at(name);
    if (request == "time") {
      std::vector<double> seconds(std::max(1, read<int>(std::cin)));
      for (double& s : seconds) {
        const auto start = std::chrono::steady_clock::now();
        chosen.sweep();
        s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      }
      std::sort(seconds.begin(), seconds.end());
      std::cout << seconds.front() << ' ' << seconds[seconds.size() / 2] << std::endl;
    } else if (request == "write") {
      const auto path = read<std::string>(std::cin);
      std::ofstream out(path, std::ios::binary);
      for (int i = 0; i < count; ++i) {
        const Eigen::MatrixXd result = chosen.result(i);
        out.write(reinterpret_cast<const char*>(result.data()), result.size() * sizeof(double));
      }
      out.close();  // the answer below promises a complete file
      if (!out) throw std::runtime_error("could not write " + path);
      std::cout << "written" << std::endl;
    } else {
      throw std::runtime_error("unknown request " + request);
    }
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << "pinocchio_bench: " << error.what() << '\n';
  return 1;
}
