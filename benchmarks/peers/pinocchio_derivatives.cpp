// pinocchio_derivatives.cpp -- times Pinocchio's analytic derivatives, as pinocchio_bench.cpp does the rest.
//
//   pinocchio_derivatives MODEL SAMPLES COUNT CONSTRAINTS
//
// Requests and files are those of pinocchio_peer.hpp and pinocchio_held.hpp. ALGORITHM is one of the names below; x are
// accelerations for the first and joint forces for the others. Constrained dynamics is solved first, by one proximal
// iteration, since its derivatives start from what that leaves.
#include <map>

#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/constrained-dynamics-derivatives.hpp>
#include <pinocchio/algorithm/constrained-dynamics.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>

#include "pinocchio_held.hpp"

int main(int argc, char** argv) try {
  using peer::algorithm, peer::as_is;
  if (argc != 5) throw std::runtime_error("usage: pinocchio_derivatives MODEL SAMPLES COUNT CONSTRAINTS");
  std::ifstream model_file(argv[1]), sample_file(argv[2], std::ios::binary), constraint_file(argv[4]);
  const int count = std::stoi(argv[3]);
  const pinocchio::Model model = peer::read_model(model_file);
  const peer::Samples samples(sample_file, model, count);
  const peer::Constraints constraints(constraint_file);
  const auto &q = samples.q, &v = samples.v, &x = samples.x;
  pinocchio::Data data(model);
  peer::Setup<pinocchio::RigidConstraintModel> held(model, constraints, peer::contact(model, constraints));
  pinocchio::initConstraintDynamics(model, held.data, held.models, held.datas);
  pinocchio::ProximalSettings settings(0.0, 1e-9, 1);

  const std::map<std::string, peer::Algorithm> algorithms = {
      {"rnea_derivatives", algorithm(
                               count,
                               [&](int i) -> const Eigen::MatrixXd& {
                                 pinocchio::computeRNEADerivatives(model, data, q[i], v[i], x[i]);
                                 return data.dtau_dq;
                               },
                               as_is)},
      {"aba_derivatives", algorithm(
                              count,
                              [&](int i) -> const Eigen::MatrixXd& {
                                pinocchio::computeABADerivatives(model, data, q[i], v[i], x[i]);
                                return data.ddq_dq;
                              },
                              as_is)},
      {"constrained_derivatives",
       algorithm(
           count,
           [&](int i) -> const Eigen::MatrixXd& {
             pinocchio::constraintDynamics(model, held.data, q[i], v[i], x[i], held.models, held.datas, settings);
             pinocchio::computeConstraintDynamicsDerivatives(model, held.data, held.models, held.datas, settings);
             return held.data.ddq_dq;
           },
           as_is)},
  };
  peer::serve(count, [&](std::istream& in) -> auto& { return algorithms.at(peer::read<std::string>(in)); });
  return 0;
} catch (const std::exception& error) {
  std::cerr << "pinocchio_derivatives: " << error.what() << '\n';
  return 1;
}
