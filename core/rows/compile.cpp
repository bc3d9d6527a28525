#include "rows/compile.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "model/mount.hpp"
#include "spatial/spatial.hpp"

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

// All of it but its point depends on the configuration.
RowEnd<double> second_end(const RowEnd<double>& first, const Mount<double>& frame) {
  RowEnd<double> end = first;
  end.first_link = first.link;
  end.link = frame.link;
  for (int k = 0; k < 3; ++k) end.p[k] = frame.p[k];
  for (double& k : end.K) k = 0;
  return end;
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
                          {}};
  for (int axis : spec.axes) closure.axes[closure.n_rows++] = axis;
  return closure;
}

RowStorage::RowStorage(const Model& model, const std::vector<ClosureSpec>& specs) {
  for (const ClosureSpec& spec : specs) add_closure(model, spec);
  sort_ends(model.tree<double>());
}

void RowStorage::add_closure(const Model& model, const ClosureSpec& spec) {
  const Tree<double>& tree = model.tree<double>();
  const int index = static_cast<int>(closures_.size());
  const std::string what = "constraint " + std::to_string(index) + " on '" + model.frame_name(spec.frame_a) + "': ";
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
  const Closure<double>& closure = closures_.emplace_back(compile_closure(tree, spec));
  for (std::size_t k = 0; k < spec.axes.size(); ++k) {
    RowEnd<double> end = first_end(closure.a, spec.axes[k], spec.of_point);
    end.closure = index;
    end.row = compiled_.n_rows++;
    end.compliance = spec.compliance[k];
    ends_.push_back(end);
    if (closure.b.link >= 0) ends_.push_back(second_end(end, closure.b));
  }
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
  compiled_.n_ends = static_cast<int>(ends_.size());
  compiled_.n_supporting = static_cast<int>(supporting_.size());
  compiled_.ends = ends_.data();
  compiled_.of_link = of_link_.data();
  compiled_.supporting = supporting_.data();
  compiled_.closures = closures_.data();
}

void RowStorage::set_mobility(const std::vector<double>& of_ends) {
  for (std::size_t r = 0; r < ends_.size(); ++r) ends_[r].mobility = of_ends[r];
}

}  // namespace featherweight
