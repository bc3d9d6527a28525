// lanes/fused.hpp -- products that are added to something, rounded once where the instruction set can.
//
// Elsewhere the compiler decides which products it fuses, and decides otherwise for lanes than for plain numbers. A
// source that names them itself, and is compiled with -ffp-contract=off, rounds alike in lanes of every width: what is
// left of a pack can go on in plain numbers and nobody will know.
#pragma once
#include "lanes/lanes.hpp"

namespace featherweight::FW_ISA {

// c + a b
FW_INLINE double plus_product(double c, double a, double b) {
#ifdef FW_HAS_FMA
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

template <int Bytes, class L = Lanes<double, Bytes>>
FW_INLINE L plus_product(const Lanes<double, Bytes>& c, const Lanes<double, Bytes>& a, const Lanes<double, Bytes>& b) {
#if defined(FW_HAS_FMA) && defined(__AVX512F__)
  constexpr int rounding_as_set = 4;
  if constexpr (Bytes == 64) return L::of(__builtin_ia32_vfmaddpd512_mask(a.x, b.x, c.x, -1, rounding_as_set));
#endif
#if defined(FW_HAS_FMA) && defined(__AVX__)
  if constexpr (Bytes == 32) return L::of(__builtin_ia32_vfmaddpd256(a.x, b.x, c.x));
#endif
#if defined(FW_HAS_FMA)
  L sum;
  for (int lane = 0; lane < L::width; ++lane) sum.set(lane, plus_product(c[lane], a[lane], b[lane]));
  return sum;
#else
  return c + a * b;
#endif
}

// c - a b
template <class S>
FW_INLINE S minus_product(const S& c, const S& a, const S& b) {
  return plus_product(c, -a, b);
}

}  // namespace featherweight::FW_ISA
