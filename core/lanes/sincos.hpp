// lanes/sincos.hpp -- sine and cosine of every lane, at most 2 ulp for any finite argument.
//
// Reduce by the nearest multiple n of pi/2 (found by adding and subtracting 1.5 * 2^52), evaluate minimax
// polynomials on [-pi/4, pi/4] (coefficients: Moshier, Cephes), then swap and negate by the two low bits of n.
// Reduction: with FMA x - n*P1 is exact and two more terms leave no error to speak of; without FMA the terms of
// pi/2 are short enough for n*P1 and n*P2 to be exact (Cody & Waite). Beyond `limit` the few large lanes go to libm.
#pragma once
#include "lanes/counted.hpp"

namespace featherweight::FW_ISA {

template <class T>
struct SincosConstants;

template <>
struct SincosConstants<double> {
  static constexpr double round = 6755399441055744.0, two_over_pi = 0.63661977236758134308, limit = 1e5;
#ifdef FW_HAS_FMA
  static constexpr double pi_half[] = {1.57079632679489655800e+00, 6.12323399573676603587e-17,
                                       -1.49738490485916983294e-33};
#else
  static constexpr double pi_half[] = {1.57079632673412561417e+00, 6.07710050630396597660e-11,
                                       2.02226624879595063154e-21};
#endif
  static constexpr double sine[] = {1.58962301576546568060e-10, -2.50507477628578072866e-8, 2.75573136213857245213e-6,
                                    -1.98412698295895385996e-4, 8.33333333332211858878e-3,  -1.66666666666666307295e-1};
  static constexpr double cosine[] = {-1.13585365213876817300e-11, 2.08757008419747316778e-9,
                                      -2.75573141792967388112e-7,  2.48015872888517045348e-5,
                                      -1.38888888888730564116e-3,  4.16666666666665929218e-2};
};

template <>
struct SincosConstants<float> {
  static constexpr float round = 12582912.0f, two_over_pi = 0.636619772367581f, limit = 1e3f;
#ifdef FW_HAS_FMA
  static constexpr float pi_half[] = {1.57079637e+00f, -4.37113883e-08f, -1.71512451e-15f};
#else
  static constexpr float pi_half[] = {1.5703125f, 4.83751297e-04f, 7.54953362e-08f, 2.56334406e-12f};
#endif
  static constexpr float sine[] = {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f};
  static constexpr float cosine[] = {2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f};
};

template <class V, class T, int N>
FW_INLINE V horner(const V& z, const T (&coefficients)[N]) {
  V value = coefficients[0] - V{};
#pragma GCC unroll 8
  for (int k = 1; k < N; ++k) value = value * z + coefficients[k];
  return value;
}

// x - n pi/2, pi/2 given in parts.
template <class V, class T, int N>
FW_INLINE V reduced(const V& x, const V& n, const T (&parts)[N]) {
  V r = x;
#ifdef FW_HAS_FMA
#pragma GCC unroll 4
  for (int k = 0; k < N; ++k) r = r - n * parts[k];
  return r;
#else
#pragma GCC unroll 4
  for (int k = 0; k < N - 2; ++k) r = r - n * parts[k];
  const V w = n * parts[N - 2], rounded = r - w;  // what rounding took away goes with the last part
  return rounded + ((r - rounded) - w - n * parts[N - 1]);
#endif
}

// On GCC vectors V of T with integer vectors I of the same size.
template <class T, class V, class I>
FW_INLINE void sincos_vector(const V& x, V& sine, V& cosine) {
  using Constants = SincosConstants<T>;
  constexpr int sign_shift = static_cast<int>(sizeof(T)) * 8 - 2;
  const V shifted = x * Constants::two_over_pi + Constants::round;
  const V n = shifted - Constants::round;
  const I quadrant = (I)shifted;
  const V r = reduced(x, n, Constants::pi_half);
  const V z = r * r;
  const V s = r + r * (z * horner(z, Constants::sine));
  const V c = (T(1) - T(0.5) * z) + (z * z) * horner(z, Constants::cosine);
  const I s_bits = (I)s, c_bits = (I)c, swap = (s_bits ^ c_bits) & -(quadrant & 1);
  sine = (V)((s_bits ^ swap) ^ ((quadrant & 2) << sign_shift));
  cosine = (V)((c_bits ^ swap) ^ (((quadrant + 1) & 2) << sign_shift));
}

FW_INLINE double library_sin(double x) { return __builtin_sin(x); }
FW_INLINE float library_sin(float x) { return __builtin_sinf(x); }
FW_INLINE double library_cos(double x) { return __builtin_cos(x); }
FW_INLINE float library_cos(float x) { return __builtin_cosf(x); }

template <class T, int Bytes>
[[gnu::noinline, gnu::cold]] void sincos_of_large_lanes(const Lanes<T, Bytes>& x, Lanes<T, Bytes>& s,
                                                        Lanes<T, Bytes>& c) {
  for (int lane = 0; lane < Lanes<T, Bytes>::width; ++lane)
    if (x[lane] > SincosConstants<T>::limit || x[lane] < -SincosConstants<T>::limit) {
      s.set(lane, library_sin(x[lane]));
      c.set(lane, library_cos(x[lane]));
    }
}

template <class T, int Bytes>
FW_INLINE void sincos(const Lanes<T, Bytes>& x, Lanes<T, Bytes>& s, Lanes<T, Bytes>& c) {
  using L = Lanes<T, Bytes>;
  sincos_vector<T, typename L::Vector, typename L::Mask>(x.x, s.x, c.x);
  if (any(x, abs(x) > L(SincosConstants<T>::limit))) [[unlikely]]
    sincos_of_large_lanes(x, s, c);
}

// A plain scalar takes the same path as one lane, so that "scalar" and vector builds agree.
template <PlainScalar T>
FW_INLINE void sincos(T x, T& s, T& c) {
  Lanes<T, 16> sine, cosine;
  sincos(Lanes<T, 16>(x), sine, cosine);
  s = sine[0];
  c = cosine[0];
}

inline void sincos(Counted x, Counted& s, Counted& c) {
  ++Counted::sincos_calls;
  sincos(x.x, s.x, c.x);
}

}  // namespace featherweight::FW_ISA
