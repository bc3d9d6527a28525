// articulated/row_count.hpp -- loops over rows whose number may be known when compiling.
#pragma once
#include "articulated/limbs.hpp"
#include "lanes/config.hpp"

namespace featherweight::FW_ISA {

// A number of rows known when compiling: blocks of three and six are most of what robots need.
template <int N>
struct Fixed {
  constexpr operator int() const { return N; }  // NOLINT(google-explicit-constructor): it is a number
};
template <class F>
FW_INLINE void with_row_count(int n, F&& f) {
  if (n == 3) return f(Fixed<3>{});
  if (n == 6) return f(Fixed<6>{});
  f(n);
}
template <class F>
FW_INLINE void for_each_row(int n, F&& f) {
  for (int r = 0; r < n; ++r) f(r);
}
template <int N, class F>
FW_INLINE void for_each_row(Fixed<N>, F&& f) {
#pragma GCC unroll 6
  for (int r = 0; r < N; ++r) f(r);
}

// Groups whose rows are solved for at link i, the world being one past the last: f(number of rows, group).
template <class F>
FW_INLINE void for_each_ending(const LimbPlan& plan, int i, F&& f) {
  for (int k = plan.of_link[i].ends; k < plan.of_link[i].joins; ++k) {
    const RowGroup& group = plan.groups[plan.arrivals[k]];
    with_row_count(group.end - group.begin, [&](auto n) { f(n, group); });
  }
}

}  // namespace featherweight::FW_ISA
