#include "articulated/survey.hpp"

#include "dynamics/affine.hpp"
#include "model/configurations.hpp"

namespace featherweight::host {
namespace {

std::vector<std::vector<double>> samples(const Tree<double>& tree) {
  std::vector<std::vector<double>> found;
  for (int k = 0; k < Survey::n_postures; ++k) found.push_back(sample_configuration(tree, 1 + k));
  return found;
}

}  // namespace

Survey::Survey(const Tree<double>& tree) : Survey(tree, samples(tree)) {}

Survey::Survey(const Tree<double>& tree, const std::vector<std::vector<double>>& configurations)
    : tree_(tree), none_(static_cast<std::size_t>(tree.nv), 0.0) {
  Arena measure;
  AbaWorkspace<double> sized(tree, measure);
  for (const std::vector<double>& q : configurations) {
    auto owned = std::make_unique<double[]>(measure.used() / sizeof(double));
    Arena arena(owned.get());
    Posture posture{std::move(owned), AbaWorkspace<double>(tree, arena)};
    move_outward(tree, q.data(), none_.data(), posture.aba);
    Outboard<double> carry;
    for (int i = tree.n_links - 1; i >= 0; --i)
      project_link(tree_, i, none_.data(), none_.data(), static_cast<const Force<double>*>(nullptr), posture.aba,
                   carry);
    postures_.push_back(std::move(posture));
  }
}

void Survey::respond(int posture, const double* tau, double* a) {
  AbaWorkspace<double>& aba = postures_[static_cast<std::size_t>(posture)].aba;
  const std::size_t n = static_cast<std::size_t>(tree_.n_links);
  std::vector<Force<double>> f(n, zero_force<double>());
  std::vector<Motion<double>> motion(n);
  std::vector<double> u(tau, tau + tree_.nv);
  for (int i = tree_.n_links - 1; i >= 0; --i) {
    const Link<double>& l = tree_.links[i];
    Force<double> passed = f[static_cast<std::size_t>(i)];
    visit(l.kind, [&](auto joint) {
      affine_inward(joint, l, aba.state + l.state, factor_of(joint, l, aba.factors), u.data() + l.v, passed);
    });
    if (l.parent >= 0) f[static_cast<std::size_t>(l.parent)] += passed;
  }
  const Motion<double> rest = zero_motion<double>();
  for (int i = 0; i < tree_.n_links; ++i) {
    const Link<double>& l = tree_.links[i];
    visit(l.kind, [&](auto joint) {
      affine_outward(joint, l, aba.state + l.state, factor_of(joint, l, aba.factors), u.data() + l.v,
                     l.parent < 0 ? rest : motion[static_cast<std::size_t>(l.parent)],
                     motion[static_cast<std::size_t>(i)], a + l.v);
    });
  }
}

void Survey::pass_joint(int i, int posture, Row<double>* rows, int n, double* L) {
  const Link<double>& l = tree_.links[i];
  AbaWorkspace<double>& aba = postures_[static_cast<std::size_t>(posture)].aba;
  G_.resize(static_cast<std::size_t>(n) * static_cast<std::size_t>(l.nv));
  const RowBlock<int, int, double> block{n, 0, rows, L, G_.data()};
  visit(l.kind, [&](auto joint) {
    host::pass_joint(joint, l, aba.state + l.state, factor_of(joint, l, aba.factors), AtRest{}, block);
  });
}

}  // namespace featherweight::host
