#include "rows/compile.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "model/joints.hpp"
#include "model/mount.hpp"

namespace featherweight {
namespace {

using namespace host;

// Along or about an axis of the frame on its link.
RowEnd<double> first_end(const Mount<double>& frame, int axis, bool of_point) {
  RowEnd<double> end{};
  const Vec3<double> n = column(mat3(frame.R), axis % 3), p = vec3(frame.p);
  const bool linear = axis < 3;
  const Vec3<double> moment = linear ? cross(p, n) : n;
  for (int k = 0; k < 3; ++k) {
    end.K[k] = linear ? n[k] : 0;
    end.K[3 + k] = moment[k];
    end.p[k] = p[k];
  }
  end.link = frame.link;
  end.axis = axis;
  end.of_point = of_point;
  end.first_link = -1;
  return end;
}

// On another link, at the place and in the axes of the first: all of it depends on the configuration.
RowEnd<double> second_end(const RowEnd<double>& first, const Mount<double>& frame) {
  RowEnd<double> end{};
  end.kind = EndKind::second;
  end.axis = first.axis;
  end.first_link = first.link;
  end.link = frame.link;
  return end;
}

// On the link of a point of a rod; first_link: of its other end, if this is the second.
RowEnd<double> rod_end(const Mount<double>& frame, int first_link) {
  RowEnd<double> end{};
  end.kind = EndKind::rod;
  end.link = frame.link;
  end.first_link = first_link;
  end.of_point = 1;
  for (int k = 0; k < 3; ++k) end.p[k] = frame.p[k];
  return end;
}

// What sees the motion of the axis joint of link i: on that link, and opposite on its parent, where the axis is as
// constant. Of a screw it is the rotation.
std::vector<RowEnd<double>> joint_ends(const Tree<double>& tree, int i) {
  const Link<double>& l = tree.links[i];
  std::vector<RowEnd<double>> ends;
  visit(l.kind, [&](auto joint) {
    using J = decltype(joint);
    if constexpr (J::nv == 1) {
      const Vec3<double> axis = along_axis(J::axis, l.sign);
      Force<double> K = J::rotates ? Force<double>{zero3<double>(), axis} : Force<double>{axis, zero3<double>()};
      for (int side = 0; side < (l.parent < 0 ? 1 : 2); ++side) {
        RowEnd<double> end{};
        end.kind = EndKind::joint;
        end.link = side ? l.parent : i;
        end.first_link = side ? i : -1;
        for (int k = 0; k < 3; ++k) end.K[k] = K.lin[k], end.K[3 + k] = K.ang[k];
        ends.push_back(end);
        if constexpr (J::turned) K = to_parent(Rotation<double>{mat3(l.R)}, K);
        K = shift_to_parent(K, vec3(l.p));
        K = {K.lin * -1.0, K.ang * -1.0};
      }
    }
  });
  return ends;
}

// Links with rows outboard, level by level: neighbours in the list are on different limbs, so that a processor can
// work on several at once.
std::vector<SupportingLink> supporting_links(const Tree<double>& tree, const std::vector<RowRange>& of_link) {
  const auto at = [](int k) { return static_cast<std::size_t>(k); };
  std::vector<SupportingLink> found;
  std::vector<int> depth;
  for (int i = 0; i < tree.n_links; ++i) {
    const int parent = tree.links[i].parent;
    depth.push_back(parent < 0 ? 0 : depth[at(parent)] + 1);
    if (of_link[at(i)].begin < of_link[at(i)].end) found.push_back({i, 1, 0});
  }
  std::stable_sort(found.begin(), found.end(),
                   [&](const auto& a, const auto& b) { return depth[at(a.link)] < depth[at(b.link)]; });
  std::vector<bool> reached(at(tree.n_links), false);
  for (auto l = found.rbegin(); l != found.rend(); ++l) {
    const int parent = tree.links[l->link].parent;
    l->is_tip = !reached[at(l->link)];
    l->arrives_first = parent >= 0 && !reached[at(parent)];
    if (parent >= 0) reached[at(parent)] = true;
  }
  return found;
}

}  // namespace

Closure<double> compile_closure(const Tree<double>& tree, const ClosureSpec& spec) {
  Closure<double> closure{mount_on_link(tree, spec.frame_a, spec.pose_a),
                          mount_on_link(tree, spec.frame_b, spec.pose_b),
                          spec.of_point,
                          0,
                          {},
                          spec.length};
  for (int axis : spec.axes) closure.axes[closure.n_rows++] = axis;
  return closure;
}

std::vector<CouplingTerm<double>> compile_coupling(const Tree<double>& tree, const CouplingSpec& spec,
                                                   const std::string& what) {
  std::vector<CouplingTerm<double>> terms;
  if (spec.terms.empty()) throw std::invalid_argument(what + "no joints");
  for (const CouplingSpec::Term& given : spec.terms) {
    int link = 0;
    while (link < tree.n_links && !(tree.links[link].v == given.dof && tree.links[link].nv == 1)) ++link;
    if (link == tree.n_links) throw std::invalid_argument(what + "a joint has no single axis");
    CouplingTerm<double> term{link, given.dof, tree.links[link].q, static_cast<int>(given.polynomial.size()), {}};
    if (term.n < 1 || term.n > CouplingTerm<double>::most_coefficients)
      throw std::invalid_argument(what + "a polynomial has " + std::to_string(CouplingTerm<double>::most_coefficients) +
                                  " coefficients at most, got " + std::to_string(term.n));
    std::copy(given.polynomial.begin(), given.polynomial.end(), term.polynomial);
    terms.push_back(term);
  }
  return terms;
}

RowStorage::RowStorage(const Model& model, const std::vector<ConstraintSpec>& specs) {
  for (const ConstraintSpec& spec : specs) {
    std::visit([&](const auto& each) { add(model, each); }, spec);
    ++compiled_.n_constraints;
  }
  places_.insert(places_.end(), coupling_places_.begin(), coupling_places_.end());
  sort_ends(model.tree<double>());
}

void RowStorage::add(const Model& model, const ClosureSpec& spec) {
  const Tree<double>& tree = model.tree<double>();
  const std::string what =
      "constraint " + std::to_string(compiled_.n_constraints) + " on '" + model.frame_name(spec.frame_a) + "': ";
  if (tree.mounts[spec.frame_a].link < 0)
    throw std::invalid_argument(what + "the world holds that frame, it cannot be constrained");
  if (spec.axes.empty()) throw std::invalid_argument(what + "no rows");
  if (spec.axes.size() > 6) throw std::invalid_argument(what + "there are six rows at most");
  if (spec.compliance.size() != spec.axes.size()) throw std::invalid_argument(what + "one compliance per row");
  if (spec.frame_b >= 0 && tree.mounts[spec.frame_b].link == tree.mounts[spec.frame_a].link)
    throw std::invalid_argument(what + "'" + model.frame_name(spec.frame_b) + "' is on the same link");
  for (std::size_t k = 0; k < spec.axes.size(); ++k) {
    if (spec.axes[k] < 0 || spec.axes[k] > 5) throw std::invalid_argument(what + "rows are numbered 0 to 5");
    if (!(spec.compliance[k] >= 0)) throw std::invalid_argument(what + "compliance must not be negative");
  }
  const int index = static_cast<int>(closures_.size());
  const Closure<double>& closure = closures_.emplace_back(compile_closure(tree, spec));
  places_.push_back({compiled_.n_constraints, compiled_.n_rows});
  for (std::size_t k = 0; k < spec.axes.size(); ++k) {
    const int row = compiled_.n_rows++;
    const bool is_rod = closure.length > 0;
    const RowEnd<double> first = is_rod ? rod_end(closure.a, -1) : first_end(closure.a, spec.axes[k], spec.of_point);
    add_end(first, index, row, spec.compliance[k], closure.b.link < 0);
    if (closure.b.link >= 0)
      add_end(is_rod ? rod_end(closure.b, first.link) : second_end(first, closure.b), index, row, spec.compliance[k],
              false);
  }
}

void RowStorage::add(const Model& model, const CouplingSpec& spec) {
  const Tree<double>& tree = model.tree<double>();
  const std::string what = "constraint " + std::to_string(compiled_.n_constraints) + ": ";
  if (!(spec.compliance >= 0)) throw std::invalid_argument(what + "compliance must not be negative");
  const int row = compiled_.n_rows++, begin = static_cast<int>(terms_.size());
  for (const CouplingTerm<double>& term : compile_coupling(tree, spec, what)) {
    for (const RowEnd<double>& end : joint_ends(tree, term.link))
      add_end(end, static_cast<int>(terms_.size()), row, spec.compliance, tree.links[term.link].parent < 0);
    terms_.push_back(term);
  }
  couplings_.push_back({begin, static_cast<int>(terms_.size())});
  coupling_places_.push_back({compiled_.n_constraints, row});
}

void RowStorage::add_end(RowEnd<double> end, int part, int row, double compliance, bool grounded) {
  end.leads = ends_.empty() || ends_.back().row != row;
  end.grounded = grounded;
  end.constraint = compiled_.n_constraints;
  end.part = part;
  end.row = row;
  end.compliance = compliance;
  ends_.push_back(end);
}

void RowStorage::sort_ends(const Tree<double>& tree) {
  std::stable_sort(ends_.begin(), ends_.end(), [](const auto& a, const auto& b) { return a.link < b.link; });
  int path_end = 0;
  for (RowEnd<double>& end : ends_) {
    const int last = tree.links[end.link].v + tree.links[end.link].nv - 1;  // its outermost degree of freedom
    end.path_end = path_end += tree.row[last + 1] - tree.row[last];
  }
  const auto first_at = [&](int link) {
    return static_cast<int>(
        std::partition_point(ends_.begin(), ends_.end(), [&](const auto& r) { return r.link < link; }) - ends_.begin());
  };
  for (int i = 0; i < tree.n_links; ++i) {
    const RowRange range{first_at(i), first_at(i + 1), first_at(tree.links[i].subtree_end), compiled_.n_entries};
    compiled_.n_entries += (range.end - range.begin) * tree.links[i].nv;
    of_link_.push_back(range);
  }
  supporting_ = supporting_links(tree, of_link_);
  compiled_.n_closures = static_cast<int>(closures_.size());
  compiled_.n_couplings = static_cast<int>(couplings_.size());
  compiled_.n_varying = static_cast<int>(
      std::count_if(ends_.begin(), ends_.end(), [](const auto& end) { return end.kind != EndKind::fixed; }));
  compiled_.n_ends = static_cast<int>(ends_.size());
  compiled_.n_supporting = static_cast<int>(supporting_.size());
  compiled_.ends = ends_.data();
  compiled_.of_link = of_link_.data();
  compiled_.supporting = supporting_.data();
  compiled_.closures = closures_.data();
  compiled_.couplings = couplings_.data();
  compiled_.terms = terms_.data();
  compiled_.places = places_.data();
}

void RowStorage::set_mobility(const std::vector<double>& of_ends) {
  for (std::size_t r = 0; r < ends_.size(); ++r) ends_[r].mobility = of_ends[r];
}

}  // namespace featherweight
