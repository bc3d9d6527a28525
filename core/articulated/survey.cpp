#include "articulated/survey.hpp"

#include "model/configurations.hpp"

namespace featherweight::host {
Survey::Survey(const Tree<double>& tree) : tree_(tree), none_(static_cast<std::size_t>(tree.nv), 0.0) {
  Arena measure;
  AbaWorkspace<double> sized(tree, measure);
  for (int k = 0; k < n_postures; ++k) {
    auto owned = std::make_unique<double[]>(measure.used() / sizeof(double));
    Arena arena(owned.get());
    Posture posture{std::move(owned), AbaWorkspace<double>(tree, arena), {}};
    move_outward(tree, sample_configuration(tree, 1 + k).data(), none_.data(), posture.aba);
    postures_.push_back(std::move(posture));
  }
}

void Survey::project_out(int i) {
  for (Posture& posture : postures_)
    project_link(tree_, i, none_.data(), none_.data(), static_cast<const Force<double>*>(nullptr), posture.aba,
                 posture.carry);
}

void Survey::pass_joint(int i, int posture, std::vector<Row<double>>& rows, std::vector<double>& L) {
  const Link<double>& l = tree_.links[i];
  AbaWorkspace<double>& aba = postures_[static_cast<std::size_t>(posture)].aba;
  G_.resize(rows.size() * static_cast<std::size_t>(l.nv));
  const RowBlock<int, int, double> block{static_cast<int>(rows.size()), 0, rows.data(), L.data(), G_.data()};
  visit(l.kind, [&](auto joint) {
    host::pass_joint(joint, l, aba.state + l.state, factor_of(joint, l, aba.factors), AtRest{}, block);
  });
}

}  // namespace featherweight::host
