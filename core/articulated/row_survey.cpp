#include "articulated/row_survey.hpp"

#include <algorithm>
#include <cmath>

#include "articulated/survey.hpp"
#include "rows/terms.hpp"

namespace featherweight {
namespace {

using namespace host;

std::size_t at(int k) { return static_cast<std::size_t>(k); }

// Configurations that have nothing in common, balls and free joints included.
std::vector<std::vector<double>> configurations(const Tree<double>& tree) {
  std::vector<std::vector<double>> found;
  for (int k = 0; k < Survey::n_postures; ++k) {
    std::vector<double>& q = found.emplace_back();
    for (int j = 0; j < tree.nq; ++j) q.push_back(1.5 * std::sin(1.0 + 1.7 * j + (2.3 + 0.9 * j) * k));
    for (int j = 0; j < tree.n_quaternions; ++j) {
      double* x = q.data() + tree.quaternions[j];
      const double norm = std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]);
      for (int c = 0; c < 4; ++c) x[c] /= norm;
    }
  }
  return found;
}

std::vector<double> jacobian(const Tree<double>& tree, const ConstraintRows<double>& constraints, const double* q) {
  Arena measure;
  RowEnds<double> sized(tree, constraints, measure);
  const auto memory = std::make_unique<double[]>(measure.used() / sizeof(double) + 1);
  Arena arena(memory.get());
  RowEnds<double> ends(tree, constraints, arena);
  ends.set(tree, constraints, q, nullptr);
  std::vector<double> J(at(constraints.n_rows) * at(tree.nv));
  constraint_jacobian(tree, constraints, q, ends.K, J.data());
  return J;
}

}  // namespace

double RowSurvey::delassus(int posture, int nv, int r, int s) const {
  const Posture& p = postures[at(posture)];
  double sum = 0;
  for (int k = 0; k < nv; ++k) sum += p.J[at(r) * at(nv) + at(k)] * p.Y[at(s) * at(nv) + at(k)];
  return sum;
}

RowSurvey survey_rows(const Tree<double>& tree, const ConstraintRows<double>& constraints) {
  RowSurvey found;
  const std::size_t nv = at(tree.nv);
  const std::vector<std::vector<double>> samples = configurations(tree);
  Survey survey(tree, samples);
  found.mobility.assign(at(constraints.n_rows), 0.0);
  for (int k = 0; k < Survey::n_postures; ++k) {
    RowSurvey::Posture posture{jacobian(tree, constraints, samples[at(k)].data()), {}};
    posture.Y.resize(posture.J.size());
    for (int r = 0; r < constraints.n_rows; ++r)
      survey.respond(k, posture.J.data() + at(r) * nv, posture.Y.data() + at(r) * nv);
    found.postures.push_back(std::move(posture));
    for (int r = 0; r < constraints.n_rows; ++r)
      found.mobility[at(r)] = std::max(found.mobility[at(r)], found.delassus(k, tree.nv, r, r));
  }
  const double largest = *std::max_element(found.mobility.begin(), found.mobility.end());
  for (double& m : found.mobility)
    if (!(m > 1e-12 * largest)) m = largest > 0 ? largest : 1.0;
  return found;
}

}  // namespace featherweight
