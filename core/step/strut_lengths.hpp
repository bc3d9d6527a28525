// step/strut_lengths.hpp -- lines through points of links, around shapes and over pulleys: how long they are, and how
// their lengths change with velocities.
//   Oracle: MuJoCo's ten_length and ten_J of spatial tendons; finite differences; the twin.
#pragma once
#include "step/bend.hpp"
#include "step/quartets.hpp"

namespace featherweight::FW_ISA {

// Of all struts of a scene.
template <class S>
struct StrutState {
  S* lengths;          // [m]
  S* travels;          // how they change with velocities: of the links of their paths, in their order
  Force<S>* wrenches;  // the same as forces on their links, in world axes about the roots of their trees
};

// Measures all struts with joints at given coordinates. S: lanes, or a single number.
template <class S>
class StrutMeasure {
 public:
  // Room for one pose and one force per link.
  StrutMeasure(const Scene& scene, Pose<S>* poses, Force<S>* carried, const StrutState<S>& out)
      : scene_(scene), tree_(scene.tree), poses_(poses), carried_(carried), out_(out) {}

  // Root to leaf: links that struts move. joints: scratch.
  void place_links(const S* q, S* joints) {
    const Pose<S> world = identity_pose<S>();
    for (int i = 0; i < tree_.n_links; ++i) {
      const Link<double>& l = tree_.links[i];
      if (!scene_.strutted[i]) continue;
      visit(l.kind, [&](auto joint) {
        place(joint, l, q + l.q, joints + l.state, l.parent < 0 ? world : poses_[l.parent], poses_[i]);
      });
    }
  }
  void measure() {
    for (int k = 0; k < scene_.n_struts; ++k) {
      const Strut& strut = scene_.struts[k];
      for (int j = strut.first_link; j < strut.first_link + strut.n_links; ++j) out_.wrenches[j] = zero_force<S>();
      out_.lengths[k] = follow(strut);
      project(strut);
    }
  }

 private:
  Vec3<S> in_world(const StrutPoint& point) const {
    const Vec3<double> p = vec3(point.p);
    return point.link < 0 ? Vec3<S>{S(p[0]), S(p[1]), S(p[2])} : poses_[point.link].R * p + poses_[point.link].p;
  }
  // The length grows by this times the velocity of a point of a link.
  void grow_with(int link, int slot, const Vec3<S>& point, const Vec3<S>& direction) {
    if (slot < 0) return;
    const Vec3<S> r = point - poses_[scene_.root[link]].p;
    out_.wrenches[slot] += Force<S>{direction, cross(r, direction)};
  }
  // A way of length 0 has no direction: what coincides pulls nowhere.
  static Vec3<S> direction_of(const Vec3<S>& way, const S& length, double share) {
    const auto is_some = length > S(0);
    return way * select(is_some, S(share) / select(is_some, length, S(1)), S(0));
  }

  S follow(const Strut& strut) {
    const StrutPoint* const points = scene_.strut_points + strut.first_point;
    S length(0);
    Vec3<S> from = in_world(points[0]);
    for (int i = 1; i < strut.n_points; ++i) {
      const StrutPoint &a = points[i - 1], &b = points[i];
      const Vec3<S> to = in_world(b), way = to - from;
      if (b.share != 0) {
        const S straight = square_root(dot(way, way));
        const Vec3<S> direction = direction_of(way, straight, b.share);
        if (b.bend < 0) {
          length = length + straight * b.share;
          grow_with(a.link, a.slot, from, direction * S(-1));
          grow_with(b.link, b.slot, to, direction);
        } else {
          length = length + follow_bend(scene_.strut_bends[b.bend], a, b, from, to, straight, direction) * b.share;
        }
      }
      from = to;
    }
    return length;
  }

  // One lane after the other. What is straight there comes and goes at its beginning, in the same direction.
  S follow_bend(const StrutBend& shape, const StrutPoint& a, const StrutPoint& b, const Vec3<S>& from,
                const Vec3<S>& to, const S& straight, const Vec3<S>& direction) {
    const Pose<S> X =
        compose(shape.at.link < 0 ? identity_pose<S>() : poses_[shape.at.link], mat3(shape.at.R), vec3(shape.at.p));
    const auto in_shape = [&](const Vec3<S>& p) { return transposed_times(X.R, p - X.p); };
    const Vec3<S> a_local = in_shape(from), b_local = in_shape(to);
    const Vec3<S> side_local = shape.has_side ? in_shape(in_world(shape.side)) : zero3<S>();
    S along(0), is_bent(0);
    Vec3<S> first = zero3<S>(), last = zero3<S>();
    for (int lane = 0; lane < width_of<S>; ++lane) {
      const LaneOf<S> here{lane};
      const Vec3<double> side = here(side_local);
      const Bend bend =
          bend_thread(shape.is_ball, shape.radius, here(a_local), here(b_local), shape.has_side ? &side : nullptr);
      if (bend.is_straight) continue;
      here.set(is_bent, 1);
      here.set(along, bend.along);
      for (int k = 0; k < 3; ++k) here.set(first[k], bend.from[k]), here.set(last[k], bend.to[k]);
    }
    const auto bends = is_bent > S(0);
    Vec3<S> meets = X.R * first + X.p, leaves = X.R * last + X.p;
    for (int k = 0; k < 3; ++k)
      meets[k] = select(bends, meets[k], from[k]), leaves[k] = select(bends, leaves[k], from[k]);
    const Vec3<S> before = meets - from, after = to - leaves;
    const S before_length = square_root(dot(before, before)), after_length = square_root(dot(after, after));
    Vec3<S> inward = direction_of(before, before_length, b.share), outward = direction_of(after, after_length, b.share);
    for (int k = 0; k < 3; ++k)
      inward[k] = select(bends, inward[k], direction[k]), outward[k] = select(bends, outward[k], direction[k]);
    grow_with(a.link, a.slot, from, inward * S(-1));
    grow_with(shape.at.link, shape.slot, meets, inward);
    grow_with(shape.at.link, shape.slot, leaves, outward * S(-1));
    grow_with(b.link, b.slot, to, outward);
    return select(bends, before_length + along + after_length, straight);
  }

  // Tips to root: how the length changes with each velocity.
  void project(const Strut& strut) {
    const StrutPathLink* const path = scene_.strut_paths + strut.first_path;
    for (int j = 0; j < strut.n_path; ++j)
      carried_[path[j].link] = path[j].slot < 0 ? zero_force<S>() : out_.wrenches[path[j].slot];
    for (int j = 0; j < strut.n_path; ++j) {
      const int i = path[j].link;
      const Link<double>& l = tree_.links[i];
      const Force<S>& force = carried_[i];
      visit(l.kind, [&](auto joint) {
        using J = decltype(joint);
        const Vec3<S> r = poses_[i].p - poses_[scene_.root[i]].p;
        for (int k = 0; k < J::nv; ++k) {
          const Motion<S> axis = SeenFromRoot<S>{poses_[i].R, r}(J::template column<S>(l, k));
          out_.travels[path[j].travel + k] = dot(axis.lin, force.lin) + dot(axis.ang, force.ang);
        }
      });
      if (path[j].hands_on) carried_[l.parent] += force;
    }
  }

  const Scene& scene_;
  const Tree<double>& tree_;
  Pose<S>* poses_;
  Force<S>* carried_;
  StrutState<S> out_;
};

// f(degree of freedom, place of its travel) of all that change the length of a strut.
template <class F>
FW_INLINE void for_strut_dofs(const Scene& scene, const Strut& strut, const F& f) {
  for (int j = strut.first_path; j < strut.first_path + strut.n_path; ++j) {
    const StrutPathLink& on = scene.strut_paths[j];
    const Link<double>& l = scene.tree.links[on.link];
    for (int k = 0; k < l.nv; ++k) f(l.v + k, on.travel + k);
  }
}

// How fast a strut grows with velocities v; read: of a number, or of one lane of it.
template <class S, class Read>
auto growth_of(const Scene& scene, const StrutState<S>& struts, int strut, const S* v, const Read& read) {
  auto sum = read(S(0)) * 1.0;
  for_strut_dofs(scene, scene.struts[strut],
                 [&](int f, int place) { sum = sum + read(v[f]) * read(struts.travels[place]); });
  return sum;
}

}  // namespace featherweight::FW_ISA
