// step/yielding.hpp -- overlaps that would take too much to undo yield instead.
//
// Where a mechanism hardly moves along the normal of a contact, an impulse that takes its overlap out sends the links
// elsewhere: a slider along its rail, a bar whose hinge is on the normal around and around. Let u be the speed of a
// link by a unit impulse, where it touches or, by its turning, at the far side of its shape. The detour is u / G, one
// where it moves straight along the normal. From k on the normal counts as more mobile than it is,
//   G / s^2,   s = (K - u / G) / (K - k),   k = `free_detour`, K = `vain_detour`,
// so that no link moves faster than 1.1 k times what its overlap asks for, and from K on not at all: it would be in
// vain, and go on for ever.
// The energy of a motion that gives the normal unit velocity is 1 / (2 G), of which a link of mass m has its part:
// where m G > 1 / k^2 there is no such detour, and nothing to look at. A normal that hinges hold on both sides has a
// mobility of rounding, which tells no detour: it does not move. Cost: O(depth) for each contact that is looked at.
// Oracle: the twin.
#pragma once
#include "step/cone_matrix.hpp"

namespace featherweight::FW_ISA {

// What is added to the mobility G of the normal of a contact that overlaps.
template <class S>
class Yielding {
 public:
  Yielding(const Scene& scene, const ConeRows<S>& rows) : scene_(scene), rows_(rows), quartet_(rows.quartets) {}

  // Rows in rising order.
  double of(int row, double G) {
    const int contact = rows_.rows[row].contact;
    if (contact < 0) return 0;  // limits move what they are on
    while (row >= quartet_->first + quartet_->rows) ++quartet_;
    if (is_held(G)) return endless;
    if (rows_.rows[row].slack >= 0) return 0;  // gaps need nothing
    constexpr double k2 = SeparateTuning::free_detour * SeparateTuning::free_detour;
    double most = 0;
    for (int e = 0; G > 0 && e < quartet_->n_ends; ++e) {
      if (scene_.tree.links[quartet_->ends[e].link].mass * G * k2 >= 1) continue;
      const double detour = speed_of(e, row - quartet_->first, rows_.contacts[contact]) / G;
      most = detour > most ? detour : most;
    }
    constexpr double k = SeparateTuning::free_detour, vain = SeparateTuning::vain_detour;
    if (!(most > k)) return 0;
    const double share = max_of((vain - most) / (vain - k), SeparateTuning::least_share);
    return G * (1 / (share * share) - 1);
  }

 private:
  static constexpr double endless = SeparateTuning::endless;
  const Scene& scene_;
  const ConeRows<S>& rows_;
  const Quartet* quartet_;  // of the last row

  // Whether nothing moves along the normal, but for rounding.
  bool is_held(double G) const {
    double least = endless;
    for (int e = 0; e < quartet_->n_ends; ++e) {
      const double mass = scene_.tree.links[quartet_->ends[e].link].mass;
      least = mass > 0 && mass < least ? mass : least;
    }
    return G * least < SeparateTuning::held;
  }

  double y(const QuartetEnd& end, int k, int row) const {
    if (quartet_->ball < 0) return end.y[k][row];
    return rows_.lane()(rows_.balls().walked(quartet_->ball).y[k].e[row]);
  }
  // How fast an end moves by a unit impulse along the row, as seen by six rows of its link.
  double speed_of(int e, int row, const Contact& c) const {
    const QuartetEnd &end = quartet_->ends[e], &other = quartet_->ends[quartet_->n_ends - 1 - e];
    const bool both = quartet_->n_ends == 2 && end.cluster == other.cluster;
    const int shared = both ? shared_dofs(scene_, end.link, other.link) : 0;
    const Vec3<double> x{1, 0, 0}, y_axis{0, 1, 0}, z{0, 0, 1};
    const RowAxes axes = row_axes(x, y_axis, z);
    const Place place = rows_.place(end.link, vec3(c.position), rows_.motion().velocity);
    double size[2];
    for (int turns = 0; turns < 2; ++turns) {
      Rows* const path = rows_.spare_y();
      walk_inward(scene_, rows_.lane(), rows_.dofs(), end.link, turns ? moments_about(axes) : forces_at(axes, place.r),
                  path);
      Rows sum = {};
      for (int k = 0; k < end.count; ++k) sum += path[k] * (y(end, k, row) + (k < shared ? y(other, k, row) : 0));
      Quartet own{0, 3, 1, -1, {{end.link, end.cluster, end.count, path}, {}}};
      rows_.hold_spare(own);
      for_shared_reactions(own, *quartet_, [&](const Rows& x, const Rows& z) FW_LAMBDA_INLINE { sum -= x * z[row]; });
      size[turns] = root(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]);
    }
    const int own = scene_.shapes[c.a].link == end.link ? c.a : c.b;
    const double radius = scene_.shapes[own].shape.radius;
    if (!(radius < endless)) return size[0];  // a plane that moves
    return size[1] * radius > size[0] ? size[1] * radius : size[0];
  }
};

}  // namespace featherweight::FW_ISA
