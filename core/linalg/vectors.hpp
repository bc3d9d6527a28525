// linalg/vectors.hpp -- four doubles at a time, at any address. The same width in every build, so that sums come out
// the same; the compiler splits it into the registers there are.
#pragma once
#include <cstddef>

#include "lanes/config.hpp"

namespace featherweight::FW_ISA {

typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));

FW_INLINE Four& four(double* p) { return *reinterpret_cast<Four*>(p); }
FW_INLINE const Four& four(const double* p) { return *reinterpret_cast<const Four*>(p); }
FW_INLINE double sum_of(const Four& x) { return (x[0] + x[1]) + (x[2] + x[3]); }

constexpr int padded(int n) { return (n + 3) & ~3; }

FW_INLINE double max_of(double a, double b) { return a > b ? a : b; }
FW_INLINE double min_of(double a, double b) { return a < b ? a : b; }
FW_INLINE double clamp(double x, double low, double high) { return max_of(low, min_of(x, high)); }
FW_INLINE double magnitude(double x) { return __builtin_fabs(x); }
FW_INLINE double root(double x) { return __builtin_sqrt(x); }

// The vectors below are padded to a multiple of four.

// x . y
FW_INLINE double dot(int n, const double* x, const double* y) {
  Four sum = {0, 0, 0, 0};
  for (int i = 0; i < n; i += 4) sum += four(x + i) * four(y + i);
  return sum_of(sum);
}

// y += a x
FW_INLINE void add_scaled(int n, double a, const double* x, double* y) {
  for (int i = 0; i < n; i += 4) four(y + i) += a * four(x + i);
}

FW_INLINE void copy(int n, const double* from, double* to) {
  for (int i = 0; i < n; ++i) to[i] = from[i];
}

FW_INLINE void fill(int n, double value, double* x) {
  for (int i = 0; i < n; ++i) x[i] = value;
}

}  // namespace featherweight::FW_ISA
