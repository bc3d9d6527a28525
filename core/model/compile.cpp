// model/compile.cpp -- from the description of a robot to the tree the kernels run on.
//
// 1. Joints with several axes (universal, planar) become chains of axis joints with massless links between.
// 2. Links on fixed joints are merged into the link that carries them.
// 3. Link frames are re-chosen: parallel to their parent's at q = 0 whenever the joint axis then is a coordinate axis,
//    so that the kernels rotate by "axis and angle" instead of by a matrix. A frame may further be turned about its own
//    joint axis, which costs nothing (the angle gets an offset), to suit the axes of the joints it carries.
//    Only Mounts know the user's frames.
#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "model/joints.hpp"
#include "model/model.hpp"
#include "spatial/spatial.hpp"

namespace featherweight {
namespace {

using namespace host;
// Extended precision where the platform has it: rotating an inertia leaves errors relative to its largest entry, and
// the smallest may be the one about the joint axis.
using Real = long double;
using V = Vec3<Real>;
using M = Mat3<Real>;
using X = Pose<Real>;

// An axis counts as aligned when its other components are below this: what rounding leaves of a product of exact
// right angles, and far below what any comparison of ours tolerates.
constexpr double alignment_tolerance = 1e-13;

// Up to here nv * nv and every other count fits an int.
constexpr int largest_nv = 32000;
constexpr std::size_t largest_count = 1000000;

M identity() { return {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}; }
M transpose(const M& m) {
  return {{m(0, 0), m(1, 0), m(2, 0)}, {m(0, 1), m(1, 1), m(2, 1)}, {m(0, 2), m(1, 2), m(2, 2)}};
}
X pose(const PoseArray& m) {
  return {{{m[0], m[1], m[2]}, {m[4], m[5], m[6]}, {m[8], m[9], m[10]}}, {m[3], m[7], m[11]}};
}
X compose(const X& a, const X& b) { return {a.R * b.R, a.R * b.p + a.p}; }
V vector(const std::array<double, 3>& a) { return {Real(a[0]), Real(a[1]), Real(a[2])}; }

// A right-handed frame whose z axis is z, reusing coordinate axes where possible so that neighbours stay aligned.
M frame_around(const V& z) {
  int least = 0;
  for (int k = 1; k < 3; ++k)
    if (std::abs(z[k]) < std::abs(z[least])) least = k;
  V x = zero3<Real>();
  x[least] = 1;
  x = x - z * dot(x, z);
  x = x * (1 / std::sqrt(dot(x, x)));
  const V y = cross(z, x);
  return {{x[0], y[0], z[0]}, {x[1], y[1], z[1]}, {x[2], y[2], z[2]}};
}

bool is_aligned(const V& axis, int k) {
  return std::abs(axis[(k + 1) % 3]) < alignment_tolerance && std::abs(axis[(k + 2) % 3]) < alignment_tolerance;
}
bool is_aligned(const V& axis) { return is_aligned(axis, 0) || is_aligned(axis, 1) || is_aligned(axis, 2); }

// Rotation about coordinate axis k.
struct Turn {
  Real cosine = 1, sine = 0;

  M matrix(int k) const {
    const AxisRotation<0, Real> x{cosine, sine};
    const AxisRotation<1, Real> y{cosine, sine};
    const AxisRotation<2, Real> z{cosine, sine};
    return k == 0 ? x.after(identity()) : k == 1 ? y.after(identity()) : z.after(identity());
  }
};

// The turn about axis k, at most 45 degrees, after which most of the given axes are coordinate axes.
Turn best_turn(const std::vector<V>& axes, int k) {
  const int i = (k + 1) % 3, j = (k + 2) % 3;
  std::vector<Turn> candidates(1);
  for (const V& axis : axes) {
    if (std::abs(axis[k]) >= alignment_tolerance || is_aligned(axis)) continue;  // a turn would not help
    const Real length = std::hypot(axis[i], axis[j]);
    const Real a = axis[i] / length, b = axis[j] / length;
    candidates.push_back(std::abs(a) >= std::abs(b) ? (a > 0 ? Turn{a, b} : Turn{-a, -b})
                                                    : (b > 0 ? Turn{b, -a} : Turn{-b, a}));
  }
  const auto aligned = [&](const Turn& turn) {
    const M R = transpose(turn.matrix(k));
    return std::count_if(axes.begin(), axes.end(), [&](const V& axis) { return is_aligned(R * axis); });
  };
  return *std::max_element(candidates.begin(), candidates.end(),
                           [&](const Turn& a, const Turn& b) { return aligned(a) < aligned(b); });
}

// One step of a joint: an axis to rotate about or travel along, a ball, or free motion.
struct Step {
  enum Kind { rotate, travel, screw, ball, free } kind;
  V axis = {0, 0, 1};
};
std::vector<Step> steps_of(const JointSpec& j) {
  const V axis = vector(j.axis), axis2 = vector(j.axis2);
  switch (j.type) {
    case JointType::fixed: return {};
    case JointType::revolute:
    case JointType::continuous: return {{Step::rotate, axis}};
    case JointType::prismatic: return {{Step::travel, axis}};
    case JointType::helical: return {{Step::screw, axis}};
    case JointType::universal: return {{Step::rotate, axis}, {Step::rotate, axis2}};
    case JointType::planar: return {{Step::travel, {1, 0, 0}}, {Step::travel, {0, 1, 0}}, {Step::rotate, {0, 0, 1}}};
    case JointType::spherical: return {{Step::ball}};
    case JointType::free: return {{Step::free}};
  }
  throw std::logic_error("unknown joint type");
}

struct Sizes {
  int nq, nv, state, factor;
};
template <class Joint>
constexpr Sizes sizes_with(int nq) {
  return {nq, Joint::nv, Joint::n_state, Joint::n_factor};
}
Sizes sizes_of(Step::Kind kind) {
  switch (kind) {
    case Step::rotate: return sizes_with<Revolute<0>>(1);
    case Step::travel: return sizes_with<Prismatic<0>>(1);
    case Step::screw: return sizes_with<Helical>(1);
    case Step::ball: return sizes_with<Spherical>(4);
    case Step::free: return sizes_with<Free>(7);
  }
  throw std::logic_error("unknown step");
}

// A user's frame on a compiled link.
struct Place {
  int link = -1;
  X pose{identity(), zero3<Real>()};
};

template <class From, class To, std::size_t N>
void copy(const From (&from)[N], To (&to)[N]) {
  for (std::size_t k = 0; k < N; ++k) to[k] = static_cast<To>(from[k]);
}
void write(const M& m, double (&out)[9]) {
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) out[3 * r + c] = static_cast<double>(m(r, c));
}
Mount<double> mount(const Place& place) {
  Mount<double> m{};
  m.link = place.link;
  write(place.pose.R, m.R);
  for (int k = 0; k < 3; ++k) m.p[k] = static_cast<double>(place.pose.p[k]);
  return m;
}

class Compiler {
 public:
  Compiler(const ModelSpec& spec, TreeStorage<double>& out, std::vector<JointRange>& ranges,
           std::vector<InertiaShare>& shares)
      : spec_(spec), out_(out), ranges_(ranges), shares_(shares) {}

  void run() {
    if (spec_.joints.size() != spec_.links.size())
      throw std::invalid_argument("a model needs as many joints as links: joint k carries link k");
    if (spec_.links.empty()) throw std::invalid_argument("model '" + spec_.name + "' has no links");
    if (spec_.links.size() + spec_.frames.size() > largest_count)
      throw std::invalid_argument("model '" + spec_.name + "' has more than " + std::to_string(largest_count) +
                                  " links and frames");
    children_.resize(spec_.joints.size());
    for (std::size_t k = 0; k < spec_.joints.size(); ++k)
      if (const int parent = spec_.joints[k].parent; parent >= 0 && parent < static_cast<int>(k))
        children_[static_cast<std::size_t>(parent)].push_back(static_cast<int>(k));
    for (std::size_t k = 0; k < spec_.joints.size(); ++k) add_joint(static_cast<int>(k));
    if (out_.tree.nv > largest_nv)
      throw std::invalid_argument("model '" + spec_.name + "' has more than " + std::to_string(largest_nv) +
                                  " degrees of freedom");
    for (const Place& place : places_) out_.mounts.push_back(mount(place));
    for (const FrameSpec& frame : spec_.frames) {
      if (frame.link < -1 || frame.link >= static_cast<int>(places_.size()))
        throw std::invalid_argument("frame '" + frame.name + "': no link number " + std::to_string(frame.link));
      Place place = frame.link < 0 ? Place{} : places_[static_cast<std::size_t>(frame.link)];
      place.pose = compose(place.pose, pose(frame.placement));
      out_.mounts.push_back(mount(place));
    }
    finish_topology();
    for (int k = 0; k < 3; ++k) out_.tree.gravity[k] = spec_.gravity[static_cast<std::size_t>(k)];
    out_.tree.n_user_links = static_cast<int>(spec_.links.size());
    out_.point();
  }

 private:
  void add_joint(int index) {
    const JointSpec& joint = spec_.joints[static_cast<std::size_t>(index)];
    while (!path_.empty() && path_.back() != joint.parent) path_.pop_back();
    if (joint.child != index || joint.parent < -1 || (path_.empty() && joint.parent >= 0))
      throw std::invalid_argument("joint '" + joint.name +
                                  "': joints must be in depth-first order, each subtree in one piece");
    path_.push_back(index);
    Place place = joint.parent < 0 ? Place{} : places_[static_cast<std::size_t>(joint.parent)];
    place.pose = compose(place.pose, pose(joint.placement));

    const std::vector<Step> steps = steps_of(joint);
    const int q = out_.tree.nq, v = out_.tree.nv;
    for (const Step& step : steps) {
      const bool last = &step == &steps.back();
      place = add_link(joint, step, out_.tree.nv - v, place,
                       last ? axes_on(index, pose(joint.child_placement).R) : std::vector<V>{});
    }
    ranges_.push_back({q, out_.tree.nq - q, v, out_.tree.nv - v});
    if (joint.armature.size() != static_cast<std::size_t>(out_.tree.nv - v))
      throw std::invalid_argument("joint '" + joint.name + "': armature needs one value per degree of freedom");

    place.pose = compose(place.pose, pose(joint.child_placement));
    places_.push_back(place);
    add_inertia(spec_.links[static_cast<std::size_t>(index)], place);
  }

  // Axes of the joints that link `index` carries, directly or by fixed joints; R: axes of the link in those wanted.
  std::vector<V> axes_on(int index, const M& R) const {
    std::vector<V> axes;
    std::vector<std::pair<int, M>> pending{{index, R}};  // not recursion: fixed joints may form long chains
    while (!pending.empty()) {
      const auto [link, R_link] = pending.back();
      pending.pop_back();
      for (int k : children_[static_cast<std::size_t>(link)]) {
        const JointSpec& joint = spec_.joints[static_cast<std::size_t>(k)];
        const M R_joint = R_link * pose(joint.placement).R;
        if (joint.type == JointType::fixed)
          pending.emplace_back(k, R_joint * pose(joint.child_placement).R);
        else if (const Step first = steps_of(joint).front(); first.kind == Step::rotate || first.kind == Step::travel)
          axes.push_back(R_joint * first.axis);
      }
    }
    return axes;
  }

  // Appends a compiled link moved by `step` from the joint frame at `at`; returns the moved joint frame. `carried`:
  // axes of the joints that follow, in the joint frame.
  Place add_link(const JointSpec& joint, const Step& step, int first_dof, const Place& at, std::vector<V> carried) {
    Link<double> l{};
    Place moved{static_cast<int>(out_.links.size()), {identity(), zero3<Real>()}};
    M R = at.pose.R;  // axes of the compiled link in its parent's, at q = 0
    int aligned = -1;
    l.sign = 1;
    if (step.kind == Step::ball || step.kind == Step::free) {
      l.kind = step.kind == Step::ball ? JointKind::spherical : JointKind::free;
    } else {
      const V axis = at.pose.R * step.axis;
      for (int k = 0; k < 3; ++k)
        if (is_aligned(axis, k)) aligned = k;
      if (aligned >= 0 && step.kind != Step::screw) {
        l.sign = axis[aligned] > 0 ? 1 : -1;
        moved.pose.R = R;
        R = identity();
      } else {
        aligned = -1;
        const M F = frame_around(step.axis);
        moved.pose.R = transpose(F);
        R = R * F;
      }
      if (step.kind == Step::rotate) {
        const int k = aligned < 0 ? 2 : aligned;
        for (V& a : carried) a = moved.pose.R * a;
        const Turn turn = best_turn(carried, k);
        moved.pose.R = transpose(turn.matrix(k)) * moved.pose.R;
        if (aligned < 0)
          R = R * turn.matrix(k);
        else
          l.offset = static_cast<double>(std::atan2(turn.sine, turn.cosine));
      }
      if (step.kind == Step::rotate)
        l.kind = aligned < 0 ? JointKind::revolute_turned : along(JointKind::revolute_x, aligned);
      if (step.kind == Step::travel)
        l.kind = aligned < 0 ? JointKind::prismatic_turned : along(JointKind::prismatic_x, aligned);
      if (step.kind == Step::screw) l.kind = JointKind::helical;
    }
    const Sizes sizes = sizes_of(step.kind);
    l.parent = at.link;
    l.nv = sizes.nv;
    l.q = out_.tree.nq;
    l.v = out_.tree.nv;
    l.state = out_.tree.n_states;
    l.factor = out_.tree.n_factors;
    l.pitch = joint.pitch;
    write(R, l.R);
    for (int k = 0; k < 3; ++k) l.p[k] = static_cast<double>(at.pose.p[k]);
    for (int k = 0; k < l.nv && first_dof + k < static_cast<int>(joint.armature.size()); ++k)
      l.armature[k] = joint.armature[static_cast<std::size_t>(first_dof + k)];
    for (int k = 0; k < l.nv && l.nv > 1; ++k) {
      l.ball_armature[k] = l.armature[k];
      if (l.armature[k] != 0) l.turns_armature = 1;
    }
    if (step.kind == Step::ball) out_.quaternions.push_back(l.q);
    if (step.kind == Step::free) out_.quaternions.push_back(l.q + 3);
    out_.tree.nq += sizes.nq;
    out_.tree.nv += sizes.nv;
    out_.tree.n_states += sizes.state;
    out_.tree.n_factors += sizes.factor;
    out_.links.push_back(l);
    return moved;
  }
  static JointKind along(JointKind x_axis, int axis) { return static_cast<JointKind>(static_cast<int>(x_axis) + axis); }

  // A link's inertia joins the compiled link that carries it; what the world carries does not move.
  void add_inertia(const LinkSpec& link, const Place& place) {
    InertiaShare& share = shares_.emplace_back();
    if (place.link < 0 || (link.mass == 0 && link.inertia == std::array<double, 9>{})) return;
    const auto& I = link.inertia;
    RigidInertia<Real> b{
        Real(link.mass), zero3<Real>(), {Real(I[0]), Real(I[1]), Real(I[2]), Real(I[4]), Real(I[5]), Real(I[8])}};
    b = shift_to_parent(b, vector(link.com));
    b = shift_to_parent(to_parent(Rotation<Real>{place.pose.R}, b), place.pose.p);
    share[0] = link.mass;
    for (std::size_t k = 0; k < 3; ++k) share[1 + k] = static_cast<double>(b.h[k]);
    for (std::size_t k = 0; k < 6; ++k) share[4 + k] = static_cast<double>(b.I.e[k]);
    Link<double>& l = out_.links[static_cast<std::size_t>(place.link)];
    l.mass += share[0];
    for (std::size_t k = 0; k < 3; ++k) l.h[k] += share[1 + k];
    for (std::size_t k = 0; k < 6; ++k) l.inertia[k] += share[4 + k];
  }

  // Subtrees, accumulators of branching links, subtree masses, and the pattern of the joint-space inertia.
  void finish_topology() {
    const int n = static_cast<int>(out_.links.size());
    auto link = [&](int i) -> Link<double>& { return out_.links[static_cast<std::size_t>(i)]; };
    for (int i = 0; i < n; ++i) {
      Link<double>& l = link(i);
      l.subtree_end = i + 1;
      l.subtree_mass = l.mass;
      l.collects = l.adds_to = -1;
      l.carries = 0;
    }
    for (int i = n - 1; i >= 0; --i) {
      const int parent = link(i).parent;
      if (parent < 0) continue;
      link(parent).subtree_end = std::max(link(parent).subtree_end, link(i).subtree_end);
      link(parent).subtree_mass += link(i).subtree_mass;
      if (parent == i - 1)
        link(parent).carries = 1;
      else if (link(parent).collects < 0)
        link(parent).collects = out_.tree.n_accumulators++;
    }
    for (int i = 0; i < n; ++i) {
      Link<double>& l = link(i);
      if (l.parent < 0) out_.tree.mass += l.subtree_mass;
    }
    std::vector<bool> reached(static_cast<std::size_t>(out_.tree.n_accumulators), false);
    for (int i = n - 1; i >= 0; --i) {
      Link<double>& l = link(i);
      if (l.parent < 0 || l.parent == i - 1) continue;
      l.adds_to = link(l.parent).collects;
      l.arrives_first = !reached[static_cast<std::size_t>(l.adds_to)];
      reached[static_cast<std::size_t>(l.adds_to)] = true;
    }
    // degrees of freedom form a tree too: those of one joint are a chain
    std::vector<int> depth;
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < link(i).nv; ++k) {
        const int inboard = k > 0                ? link(i).v + k - 1
                            : link(i).parent < 0 ? -1
                                                 : link(link(i).parent).v + link(link(i).parent).nv - 1;
        out_.dof_parent.push_back(inboard);
        depth.push_back(inboard < 0 ? 1 : depth[static_cast<std::size_t>(inboard)] + 1);
      }
    out_.row.push_back(0);
    for (int d : depth) out_.row.push_back(out_.row.back() + d);
  }

  const ModelSpec& spec_;
  TreeStorage<double>& out_;
  std::vector<JointRange>& ranges_;
  std::vector<InertiaShare>& shares_;
  std::vector<int> path_;                   // links from a root to the last one added
  std::vector<Place> places_;               // of the user's links
  std::vector<std::vector<int>> children_;  // joints carried by each link
};

void convert(const TreeStorage<double>& from, TreeStorage<float>& to) {
  for (const Link<double>& a : from.links) {
    Link<float> b{};
    b.kind = a.kind, b.parent = a.parent, b.subtree_end = a.subtree_end, b.q = a.q, b.v = a.v, b.nv = a.nv;
    b.state = a.state, b.factor = a.factor, b.carries = a.carries, b.collects = a.collects, b.adds_to = a.adds_to,
    b.arrives_first = a.arrives_first;
    b.sign = static_cast<float>(a.sign), b.offset = static_cast<float>(a.offset), b.pitch = static_cast<float>(a.pitch),
    b.mass = static_cast<float>(a.mass);
    b.subtree_mass = static_cast<float>(a.subtree_mass);
    copy(a.R, b.R), copy(a.p, b.p), copy(a.h, b.h), copy(a.inertia, b.inertia), copy(a.armature, b.armature);
    copy(a.ball_armature, b.ball_armature), b.turns_armature = a.turns_armature;
    to.links.push_back(b);
  }
  for (const Mount<double>& a : from.mounts) {
    Mount<float> b{};
    b.link = a.link;
    copy(a.R, b.R), copy(a.p, b.p);
    to.mounts.push_back(b);
  }
  to.quaternions = from.quaternions, to.dof_parent = from.dof_parent, to.row = from.row;
  const Tree<double>& t = from.tree;
  to.tree.nq = t.nq, to.tree.nv = t.nv, to.tree.n_states = t.n_states, to.tree.n_factors = t.n_factors;
  to.tree.n_accumulators = t.n_accumulators, to.tree.n_user_links = t.n_user_links;
  to.tree.mass = static_cast<float>(t.mass);
  copy(t.gravity, to.tree.gravity);
  to.point();
}

// Does a constant of the model vanish or overflow in single precision?
bool survives(double x) {
  const float y = static_cast<float>(x);
  return std::isfinite(y) && (x == 0 || std::fpclassify(y) == FP_NORMAL);
}
bool survives(const Link<double>& l) {
  bool all = survives(l.mass) && survives(l.subtree_mass);
  for (int k : {0, 3, 5}) all = all && survives(l.inertia[k]);
  for (double x : l.inertia) all = all && std::isfinite(static_cast<float>(x));
  for (double x : l.h) all = all && std::isfinite(static_cast<float>(x));
  for (double x : l.p) all = all && std::isfinite(static_cast<float>(x));
  for (double x : l.armature) all = all && survives(x);
  return all;
}

// Levenshtein distance, for suggestions.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

template <class C>
void TreeStorage<C>::point() {
  tree.n_links = static_cast<int>(links.size());
  tree.n_mounts = static_cast<int>(mounts.size());
  tree.n_quaternions = static_cast<int>(quaternions.size());
  tree.links = links.data();
  tree.mounts = mounts.data();
  tree.quaternions = quaternions.data();
  tree.dof_parent = dof_parent.data();
  tree.row = row.data();
}

Model::Model(ModelSpec spec) : spec_(std::move(spec)) {
  Compiler(spec_, f64_, ranges_, shares_).run();
  for (const LinkSpec& link : spec_.links) mass_ += link.mass;
  for (int k = 0; k < n_frames(); ++k)
    if (!frames_.emplace(frame_name(k), k).second)
      throw std::invalid_argument("two links or frames are called '" + frame_name(k) + "'");
  for (int i = 0; i < f64_.tree.n_links && f32_problem_.empty(); ++i)
    if (!survives(f64_.links[static_cast<std::size_t>(i)]))
      f32_problem_ = "link '" + spec_.links[joint_of(i)].name + "' has mass or inertia beyond the range of float32";
  convert(f64_, f32_);
}

std::size_t Model::joint_of(int link) const {
  const int v = f64_.links[static_cast<std::size_t>(link)].v;
  std::size_t k = 0;
  while (v < ranges_[k].v || v >= ranges_[k].v + ranges_[k].nv) ++k;
  return k;
}

std::vector<double> Model::neutral() const {
  std::vector<double> q(static_cast<std::size_t>(nq()), 0.0);
  for (int first : f64_.quaternions) q[static_cast<std::size_t>(first + 3)] = 1.0;
  return q;
}

const std::string& Model::frame_name(int index) const {
  const std::size_t k = static_cast<std::size_t>(index), n = spec_.links.size();
  return k < n ? spec_.links[k].name : spec_.frames[k - n].name;
}

int Model::frame(const std::string& name) const {
  if (const auto found = frames_.find(name); found != frames_.end()) return found->second;
  constexpr std::size_t longest = 100;  // what is worth comparing, and printing
  std::string message = "unknown frame '" + name.substr(0, longest) + "' of model '" + spec_.name + "'";
  if (name.size() > longest) throw std::invalid_argument(message);
  std::multimap<std::size_t, std::string> closest;
  for (const auto& [known, index] : frames_) closest.emplace(edit_distance(name, known), known);
  int shown = 0;
  for (const auto& [distance, candidate] : closest) {
    if (shown == 3) break;
    message += (shown++ ? ", '" : "; closest are '") + candidate + "'";
  }
  throw std::invalid_argument(message);
}

template struct TreeStorage<double>;
template struct TreeStorage<float>;

}  // namespace featherweight
