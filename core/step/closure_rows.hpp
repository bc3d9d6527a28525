// step/closure_rows.hpp -- rows of closures: two frames stay together, along and about the axes of the first.
//
// Both sides are pushed at the origin of the second frame, where the first may be elsewhere: so their forces balance,
// and the velocity of a row is the rate of its error however far they are apart.
#pragma once
#include "rows/closure.hpp"
#include "step/cone_rows.hpp"

namespace featherweight::FW_ISA {

// impulse: of its first row; opening, apart: likewise, on lanes (shake.hpp). Returns how many rows it has.
template <class S>
int add_closure(const Closure<double>& closure, double dt, const S* opening, const S* apart, double* impulse,
                ConeRows<S>& rows) {
  const Pose<S>* const poses = rows.motion().pose;
  const Pose<double> X[2] = {frame_of(closure.a, rows.lane(), poses), frame_of(closure.b, rows.lane(), poses)};
  const int links[2] = {closure.a.link, closure.b.link};
  double errors[6], wanted[6];
  for (int r = 0; r < closure.n_rows; ++r) errors[r] = wanted[r] = rows.lane()(apart[r]);
  limit_errors(closure, ClosureTuning::fastest * dt, ClosureTuning::fastest_turn * dt, wanted);
  int next = 0;
  for (int half = 0; half < 6; half += 3) {
    const int first = next;
    while (next < closure.n_rows && closure.axes[next] < half + 3) ++next;
    const int n = next - first;
    if (n == 0) continue;
    Quartet& quartet = rows.add_quartet(n);
    Vec3<double> u = zero3<double>();
    for (int side = 0; side < 2; ++side) {
      if (links[side] < 0) continue;
      const Place p = rows.place(links[side], X[1].p, rows.motion().velocity);
      u += (half == 0 ? p.moves() : p.velocity.ang) * sign(side);
      Vec3<double> axes[3] = {zero3<double>(), zero3<double>(), zero3<double>()};
      for (int r = 0; r < n; ++r) axes[r] = column(X[0].R, closure.axes[first + r] - half) * sign(side);
      const RowAxes four = row_axes(axes[0], axes[1], axes[2]);
      rows.add_end(quartet, links[side], half == 0 ? forces_at(four, p.r) : moments_about(four));
    }
    rows.add_block(Law::equality, n);
    for (int r = 0; r < n; ++r) {
      const double error = errors[first + r], shift = rows.lane()(opening[first + r]);
      rows.add_row(dot(column(X[0].R, closure.axes[first + r] - half), u), shift, 0, impulse + first + r);
      rows.ask_position(shift + wanted[first + r] * rows.per_dt(), Slack::both_sided);
      rows.drift = error > rows.drift ? error : -error > rows.drift ? -error : rows.drift;
    }
  }
  return closure.n_rows;
}

}  // namespace featherweight::FW_ISA
