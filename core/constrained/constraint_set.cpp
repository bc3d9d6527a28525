#include "constrained/constraint_set.hpp"

#include <algorithm>
#include <stdexcept>

#include "articulated/mobility.hpp"
#include "spatial/spatial.hpp"

namespace featherweight {
namespace {

using namespace host;

// The constraint's frame on the compiled link that carries it.
Pose<double> frame_on_link(const Mount<double>& mount, const PoseArray& m) {
  const Mat3<double> R{{m[0], m[1], m[2]}, {m[4], m[5], m[6]}, {m[8], m[9], m[10]}};
  return {mat3(mount.R) * R, mat3(mount.R) * Vec3<double>{m[3], m[7], m[11]} + vec3(mount.p)};
}

Mount<double> mount_at(int link, const Pose<double>& frame) {
  Mount<double> mount{link, {}, {}};
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) mount.R[3 * r + c] = frame.R(r, c);
    mount.p[r] = frame.p[r];
  }
  return mount;
}

ConstraintRow<double> make_row(const Pose<double>& frame, int axis, bool point) {
  ConstraintRow<double> row{};
  const Vec3<double> n = column(frame.R, axis % 3);
  const bool linear = axis < 3;
  const Vec3<double> moment = linear ? cross(frame.p, n) : n;
  for (int k = 0; k < 3; ++k) {
    row.K[k] = linear ? n[k] : 0;
    row.K[3 + k] = moment[k];
    row.p[k] = frame.p[k];
  }
  row.axis = axis;
  row.of_point = point;
  row.first_link = -1;
  return row;
}

// The other end of a row: all but its point depends on the configuration.
ConstraintRow<double> second_end(const ConstraintRow<double>& first, int link, const Pose<double>& frame) {
  ConstraintRow<double> row = first;
  row.first_link = first.link;
  row.link = link;
  for (int k = 0; k < 3; ++k) row.p[k] = frame.p[k];
  for (double& k : row.K) k = 0;
  return row;
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

ConstraintSet::ConstraintSet(const Model& model, const std::vector<ConstraintSpec>& specs)
    : model_(model), n_constraints_(static_cast<int>(specs.size())) {
  const Tree<double>& tree = model_.tree<double>();
  for (std::size_t c = 0; c < specs.size(); ++c) {
    const ConstraintSpec& spec = specs[c];
    const std::string what = "constraint " + std::to_string(c) + " on '" + model_.frame_name(spec.mount) + "': ";
    const Mount<double>& mount = tree.mounts[spec.mount];
    if (mount.link < 0) throw std::invalid_argument(what + "the world holds that frame, it cannot be constrained");
    if (spec.axes.empty()) throw std::invalid_argument(what + "no rows");
    if (spec.compliance.size() != spec.axes.size()) throw std::invalid_argument(what + "one compliance per row");
    const Mount<double>* to = spec.to_mount < 0 ? nullptr : &tree.mounts[spec.to_mount];
    if (to && to->link == mount.link)
      throw std::invalid_argument(what + "'" + model_.frame_name(spec.to_mount) + "' is on the same link");
    const Pose<double> frame = frame_on_link(mount, spec.offset);
    frames_.push_back(mount_at(mount.link, frame));
    for (std::size_t k = 0; k < spec.axes.size(); ++k) {
      if (spec.axes[k] < 0 || spec.axes[k] > 5) throw std::invalid_argument(what + "rows are numbered 0 to 5");
      if (!(spec.compliance[k] >= 0)) throw std::invalid_argument(what + "compliance must not be negative");
      ConstraintRow<double> row = make_row(frame, spec.axes[k], spec.point);
      row.link = mount.link;
      row.constraint = static_cast<int>(c);
      row.row = n_rows_++;
      row.compliance = spec.compliance[k];
      rows_.push_back(row);
      if (to && to->link >= 0) rows_.push_back(second_end(row, to->link, frame_on_link(*to, spec.to_offset)));
    }
  }
  std::stable_sort(rows_.begin(), rows_.end(), [](const auto& a, const auto& b) { return a.link < b.link; });
  int path_end = 0;
  for (ConstraintRow<double>& row : rows_) {
    const int last = tree.links[row.link].v + tree.links[row.link].nv - 1;  // its outermost freedom
    row.path_end = path_end += tree.row[last + 1] - tree.row[last];
  }

  const auto first_at = [&](int link) {
    return static_cast<int>(
        std::partition_point(rows_.begin(), rows_.end(), [&](const auto& r) { return r.link < link; }) - rows_.begin());
  };
  int entries = 0;
  for (int i = 0; i < tree.n_links; ++i) {
    const RowRange range{first_at(i), first_at(i + 1), first_at(tree.links[i].subtree_end), entries};
    entries += (range.end - range.begin) * tree.links[i].nv;
    of_link_.push_back(range);
  }
  supporting_ = supporting_links(tree, of_link_);
  compiled_ = {.n_rows = static_cast<int>(rows_.size()),
               .n_constraints = n_constraints_,
               .n_entries = entries,
               .n_supporting = static_cast<int>(supporting_.size()),
               .n_user_rows = n_rows_,
               .rows = rows_.data(),
               .of_link = of_link_.data(),
               .supporting = supporting_.data(),
               .frames = frames_.data(),
               .stops = &stop_plan_,
               .limbs = nullptr};
  stops_ = plan_stops(tree, compiled_);
  stop_plan_ = stops_.view();
  if (between_links()) return;  // what follows is for constrained dynamics, which knows rows on one link only
  const std::vector<double> mobility = mobilities(tree, compiled_);
  for (std::size_t r = 0; r < rows_.size(); ++r) rows_[r].mobility = mobility[r];
  limbs_ = plan_limbs(tree, compiled_);
  limb_plan_ = limbs_.view();
  compiled_.limbs = &limb_plan_;
}

}  // namespace featherweight
