// pinocchio_bench.cpp -- times Pinocchio's C++ on the very samples the runner times featherweight on.
//
//   pinocchio_bench MODEL SAMPLES COUNT
//
// Requests and files are those of pinocchio_peer.hpp; ALGORITHM is one of the names below.
#include <map>

#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include "pinocchio_peer.hpp"

int main(int argc, char** argv) try {
  using peer::algorithm, peer::as_is, pinocchio::Convention;
  if (argc != 4) throw std::runtime_error("usage: pinocchio_bench MODEL SAMPLES COUNT");
  std::ifstream model_file(argv[1]), sample_file(argv[2], std::ios::binary);
  const int count = std::stoi(argv[3]);
  const pinocchio::Model model = peer::read_model(model_file);
  const peer::Samples samples(sample_file, model, count);
  const auto &q = samples.q, &v = samples.v, &x = samples.x;
  pinocchio::Data data(model);

  const auto symmetric = [](const auto& upper) -> Eigen::MatrixXd {
    return upper.template selfadjointView<Eigen::Upper>();
  };
  const auto aba = [&](Convention c) {
    return algorithm(count, [&, c](int i) -> auto& { return pinocchio::aba(model, data, q[i], v[i], x[i], c); }, as_is);
  };
  const auto crba = [&](Convention c) {
    return algorithm(count, [&, c](int i) -> auto& { return pinocchio::crba(model, data, q[i], c); }, symmetric);
  };
  const std::map<std::string, peer::Algorithm> algorithms = {
      {"aba_local", aba(Convention::LOCAL)},
      {"aba_world", aba(Convention::WORLD)},
      {"crba_local", crba(Convention::LOCAL)},
      {"crba_world", crba(Convention::WORLD)},
      {"rnea", algorithm(
                   count, [&](int i) -> auto& { return pinocchio::rnea(model, data, q[i], v[i], x[i]); }, as_is)},
  };
  peer::serve(count, [&](std::istream& in) -> auto& { return algorithms.at(peer::read<std::string>(in)); });
  return 0;
} catch (const std::exception& error) {
  std::cerr << "pinocchio_bench: " << error.what() << '\n';
  return 1;
}
