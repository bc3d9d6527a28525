// pinocchio_constrained.cpp -- times Pinocchio's constrained dynamics, as pinocchio_bench.cpp does the rest.
//
//   pinocchio_constrained MODEL SAMPLES COUNT CONSTRAINTS
//
// Requests and files are those of pinocchio_peer.hpp. CONSTRAINTS holds the rows of each (3 or 6, all alike), their
// number, and for each its joint and placement there. ALGORITHM is a method, the damping mu of the rows, and the number
// of proximal iterations: exactly that many are made, because no residual is below the accuracy of zero asked for.
#include <map>

#include <pinocchio/algorithm/constrained-dynamics.hpp>
#include <pinocchio/algorithm/pv.hpp>

#include "pinocchio_peer.hpp"

namespace {

using pinocchio::Data, pinocchio::Model, pinocchio::SE3;

struct Held {
  std::size_t joint;
  SE3 placement;
};

std::vector<Held> read_constraints(std::istream& in) {
  std::vector<Held> all(peer::read<std::size_t>(in));
  for (Held& held : all) {
    held.joint = peer::read<std::size_t>(in);
    held.placement = peer::read_placement(in);
  }
  return all;
}

// What a method is run with: settings it reads and writes, constraints, and Data of its own, because the methods leave
// each other's in a state they do not expect.
template <class Constraint>
struct Setup {
  Data data;
  std::vector<Constraint, Eigen::aligned_allocator<Constraint>> models;
  std::vector<typename Constraint::ConstraintData, Eigen::aligned_allocator<typename Constraint::ConstraintData>> datas;

  template <class Make>
  Setup(const Model& model, const std::vector<Held>& all, Make make) : data(model) {
    for (const Held& held : all) models.push_back(make(held));
    for (const Constraint& constraint : models) datas.push_back(constraint.createData());
  }
};

// All methods; `settings` are those of the next call. Constraint: with 3 or 6 rows by its type, which pv asks for.
template <class Constraint>
std::map<std::string, peer::Algorithm> methods(const Model& model, const peer::Samples& samples,
                                               const std::vector<Held>& all, pinocchio::ProximalSettings& settings) {
  using Contact = pinocchio::RigidConstraintModel;
  const auto type = Constraint::Size == 3 ? pinocchio::CONTACT_3D : pinocchio::CONTACT_6D;
  const auto contact = [&](const Held& h) { return Contact(type, model, h.joint, h.placement, pinocchio::LOCAL); };
  const auto anchor = [&](const Held& h) { return Constraint(model, h.joint, h.placement); };
  const auto rigid = std::make_shared<Setup<Contact>>(model, all, contact);
  const auto pv = std::make_shared<Setup<Constraint>>(model, all, anchor);
  const auto caba = std::make_shared<Setup<Constraint>>(model, all, anchor);
  pinocchio::initConstraintDynamics(model, rigid->data, rigid->models, rigid->datas);
  pinocchio::initPvSolver(model, pv->data, pv->models);
  pinocchio::initPvSolver(model, caba->data, caba->models);

  const int count = static_cast<int>(samples.q.size());
  const auto run = [&, count](auto setup, auto method) {
    return peer::algorithm(
        count,
        [&, setup, method](int i) -> auto& {
          return method(model, setup->data, samples.q[i], samples.v[i], samples.x[i], setup->models, setup->datas,
                        settings);
        },
        peer::as_is);
  };
  return {
      {"constraintDynamics",
       run(rigid, [](auto&&... args) -> auto& { return pinocchio::constraintDynamics(args...); })},
      {"pv", run(pv, [](auto&&... args) -> auto& { return pinocchio::pv(args...); })},
      {"constrainedABA", run(caba, [](auto&&... args) -> auto& { return pinocchio::constrainedABA(args...); })},
  };
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 5) throw std::runtime_error("usage: pinocchio_constrained MODEL SAMPLES COUNT CONSTRAINTS");
  std::ifstream model_file(argv[1]), sample_file(argv[2], std::ios::binary), constraint_file(argv[4]);
  const int count = std::stoi(argv[3]);
  const Model model = peer::read_model(model_file);
  const peer::Samples samples(sample_file, model, count);
  const bool points = peer::read<int>(constraint_file) == 3;
  const std::vector<Held> all = read_constraints(constraint_file);
  pinocchio::ProximalSettings settings(0.0, 0.0, 1);
  const auto algorithms = points ? methods<pinocchio::PointAnchorConstraintModel>(model, samples, all, settings)
                                 : methods<pinocchio::FrameAnchorConstraintModel>(model, samples, all, settings);
  peer::serve(count, [&](std::istream& in) -> auto& {
    const auto name = peer::read<std::string>(in);
    settings.mu = peer::read<double>(in);
    settings.max_iter = peer::read<int>(in);
    return algorithms.at(name);
  });
  return 0;
} catch (const std::exception& error) {
  std::cerr << "pinocchio_constrained: " << error.what() << '\n';
  return 1;
}
