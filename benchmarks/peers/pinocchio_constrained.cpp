// pinocchio_constrained.cpp -- times Pinocchio's constrained dynamics, as pinocchio_bench.cpp does the rest.
//
//   pinocchio_constrained MODEL SAMPLES COUNT CONSTRAINTS
//
// Requests and files are those of pinocchio_peer.hpp and pinocchio_held.hpp. ALGORITHM is a method, the damping mu of
// the rows, and the number of proximal iterations: exactly that many are made, because no residual is below the
// accuracy of zero asked for.
#include <map>
#include <memory>

#include <pinocchio/algorithm/constrained-dynamics.hpp>
#include <pinocchio/algorithm/pv.hpp>

#include "pinocchio_held.hpp"

namespace {

using pinocchio::Model;

// All methods; `settings` are those of the next call. Constraint: with 3 or 6 rows by its type, which pv asks for.
template <class Constraint>
std::map<std::string, peer::Algorithm> methods(const Model& model, const peer::Samples& samples,
                                               const peer::Constraints& constraints,
                                               pinocchio::ProximalSettings& settings) {
  using Rigid = peer::Setup<pinocchio::RigidConstraintModel>;
  using Anchored = peer::Setup<Constraint>;
  const auto rigid = std::make_shared<Rigid>(model, constraints, peer::contact(model, constraints));
  const auto pv = std::make_shared<Anchored>(model, constraints, peer::anchor<Constraint>(model));
  const auto caba = std::make_shared<Anchored>(model, constraints, peer::anchor<Constraint>(model));
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
  const peer::Constraints constraints(constraint_file);
  pinocchio::ProximalSettings settings(0.0, 0.0, 1);
  const auto algorithms = constraints.rows == 3
                              ? methods<pinocchio::PointAnchorConstraintModel>(model, samples, constraints, settings)
                              : methods<pinocchio::FrameAnchorConstraintModel>(model, samples, constraints, settings);
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
