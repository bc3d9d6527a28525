#include "constrained/survey.hpp"

#include <cmath>

namespace featherweight::host {
namespace {

// Neither neutral nor special in any way.
std::vector<double> generic_configuration(const Tree<double>& tree, int which) {
  std::vector<double> q(static_cast<std::size_t>(tree.nq));
  for (int k = 0; k < tree.nq; ++k)
    q[static_cast<std::size_t>(k)] = 1.5 * std::sin(1.0 + 1.7 * k + 2.3 * which * k + which);
  for (int k = 0; k < tree.n_quaternions; ++k) {
    double* x = q.data() + tree.quaternions[k];
    const double norm = std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]);
    for (int c = 0; c < 4; ++c) x[c] /= norm;
  }
  return q;
}

}  // namespace

Survey::Survey(const Tree<double>& tree) : tree_(tree), none_(static_cast<std::size_t>(tree.nv), 0.0) {
  Memory memory;
  {
    Arena measure(memory);
    AbaWorkspace<double> sized(tree, measure);
  }
  for (int k = 0; k < n_postures; ++k) {
    auto owned = std::make_unique<double[]>(memory.required / sizeof(double));
    Memory measured{owned.get(), memory.required, 0};
    Arena arena(measured);
    Posture posture{std::move(owned), AbaWorkspace<double>(tree, arena), nothing_outboard<double>()};
    move_outward(tree, generic_configuration(tree, k).data(), none_.data(), posture.sweep);
    postures_.push_back(std::move(posture));
  }
}

void Survey::project_out(int i) {
  for (Posture& posture : postures_)
    project_link(tree_, i, none_.data(), none_.data(), static_cast<const Force<double>*>(nullptr),
                 nothing_outboard<double>(), posture.sweep, posture.carry);
}

void Survey::pass_joint(int i, int posture, std::vector<Row<double>>& rows, std::vector<double>& L) {
  const Link<double>& l = tree_.links[i];
  AbaWorkspace<double>& sweep = postures_[static_cast<std::size_t>(posture)].sweep;
  G_.resize(rows.size() * static_cast<std::size_t>(l.nv));
  const RowBlock<int, int, double> block{static_cast<int>(rows.size()), 0, rows.data(), L.data(), G_.data()};
  visit(l.kind, [&](auto joint) {
    host::pass_joint(joint, l, sweep.state + l.state, sweep.motion[i], none_.data() + l.v,
                     factor_of(joint, l, sweep.factors), block);
  });
}

}  // namespace featherweight::host
