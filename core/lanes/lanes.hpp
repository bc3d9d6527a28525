// lanes/lanes.hpp -- a scalar that is exactly one vector register; every lane is another simulation.
//
// Arithmetic is element-wise, so a lane's bits never depend on its neighbours. Masks are integer vectors with all
// bits set where true; `select` picks by mask, and branches are taken only on `any` / `all`.
#pragma once
#include <cstdint>

#include "lanes/config.hpp"

namespace featherweight::FW_ISA {

template <class T>
struct IntegerOf;
template <>
struct IntegerOf<double> {
  using Type = std::int64_t;
};
template <>
struct IntegerOf<float> {
  using Type = std::int32_t;
};

template <class T, int Bytes>
struct Lanes {
  static constexpr int width = Bytes / static_cast<int>(sizeof(T));
  using Integer = typename IntegerOf<T>::Type;
  typedef T Vector __attribute__((vector_size(Bytes)));
  typedef Integer Mask __attribute__((vector_size(Bytes)));

  Vector x;

  Lanes() = default;
  FW_INLINE Lanes(T value) : x(value - Vector{}) {}  // NOLINT(google-explicit-constructor): constants broadcast
  static FW_INLINE Lanes of(const Vector& value) {   // a name, because Vector is not yet distinct from T here
    Lanes r;
    r.x = value;
    return r;
  }

  FW_INLINE T operator[](int lane) const { return x[lane]; }
  FW_INLINE void set(int lane, T value) { x[lane] = value; }

  friend FW_INLINE Lanes operator+(const Lanes& a, const Lanes& b) { return of(a.x + b.x); }
  friend FW_INLINE Lanes operator-(const Lanes& a, const Lanes& b) { return of(a.x - b.x); }
  friend FW_INLINE Lanes operator*(const Lanes& a, const Lanes& b) { return of(a.x * b.x); }
  friend FW_INLINE Lanes operator/(const Lanes& a, const Lanes& b) { return of(a.x / b.x); }
  friend FW_INLINE Lanes operator-(const Lanes& a) { return of(-a.x); }
  FW_INLINE Lanes& operator+=(const Lanes& b) { return *this = *this + b; }
  FW_INLINE Lanes& operator-=(const Lanes& b) { return *this = *this - b; }
  FW_INLINE Lanes& operator*=(const Lanes& b) { return *this = *this * b; }

  friend FW_INLINE Mask operator<(const Lanes& a, const Lanes& b) { return a.x < b.x; }
  friend FW_INLINE Mask operator<=(const Lanes& a, const Lanes& b) { return a.x <= b.x; }
  friend FW_INLINE Mask operator>(const Lanes& a, const Lanes& b) { return a.x > b.x; }

  friend FW_INLINE Lanes select(const Mask& m, const Lanes& a, const Lanes& b) { return of(m ? a.x : b.x); }
  friend FW_INLINE bool any(const Lanes&, const Mask& m) { return any_bit(m); }
  friend FW_INLINE Lanes abs(const Lanes& a) { return of(a.x < T(0) ? -a.x : a.x); }

 private:
  // In a few instructions, where it takes twenty otherwise.
  static FW_INLINE bool any_bit(const Mask& m) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
    typedef long long Longs __attribute__((vector_size(64)));
    typedef int Ints __attribute__((vector_size(64)));
    if constexpr (Bytes == 64 && sizeof(T) == 8) return __builtin_ia32_cvtq2mask512((Longs)m) != 0;
    if constexpr (Bytes == 64 && sizeof(T) == 4) return __builtin_ia32_cvtd2mask512((Ints)m) != 0;
#endif
#if defined(__AVX__)
    typedef float Floats __attribute__((vector_size(32)));
    if constexpr (Bytes == 32) return __builtin_ia32_movmskps256((Floats)m) != 0;
#endif
    Integer bits = 0;
    for (int lane = 0; lane < width; ++lane) bits |= m[lane];
    return bits != 0;
  }
};

// The same vocabulary for plain scalars, so that a kernel instantiated with double is ordinary code.
template <class T>
concept PlainScalar = __is_same(T, double) || __is_same(T, float);

template <PlainScalar T>
FW_INLINE T select(bool m, T a, T b) {
  return m ? a : b;
}
template <PlainScalar T>
FW_INLINE bool any(T, bool m) {
  return m;
}
template <PlainScalar T>
FW_INLINE T abs(T a) {
  return a < 0 ? -a : a;
}

// Properties of a scalar type: its element type, its number of lanes, and access to one of them.
template <class S>
struct ScalarTraits {
  using Element = S;
  static constexpr int width = 1;
  static FW_INLINE Element get(const S& s, int) { return s; }
  static FW_INLINE void set(S& s, int, Element value) { s = value; }
};
template <class T, int Bytes>
struct ScalarTraits<Lanes<T, Bytes>> {
  using Element = T;
  static constexpr int width = Lanes<T, Bytes>::width;
  static FW_INLINE Element get(const Lanes<T, Bytes>& s, int lane) { return s[lane]; }
  static FW_INLINE void set(Lanes<T, Bytes>& s, int lane, Element value) { s.set(lane, value); }
};
template <class S>
using ElementOf = typename ScalarTraits<S>::Element;
template <class S>
inline constexpr int width_of = ScalarTraits<S>::width;

template <class S>
FW_INLINE S larger(const S& a, const S& b) {
  return select(a > b, a, b);
}
template <class S>
FW_INLINE S smaller(const S& a, const S& b) {
  return select(a < b, a, b);
}

// Applies a scalar function lane by lane: for the rare operations that are not worth a vector form.
template <class S, class F>
FW_INLINE S map_lanes(const S& x, F&& f) {
  S result = x;
  for (int lane = 0; lane < width_of<S>; ++lane) ScalarTraits<S>::set(result, lane, f(ScalarTraits<S>::get(x, lane)));
  return result;
}
template <class S, class F>
FW_INLINE S map_lanes(const S& x, const S& y, F&& f) {
  S result = x;
  for (int lane = 0; lane < width_of<S>; ++lane)
    ScalarTraits<S>::set(result, lane, f(ScalarTraits<S>::get(x, lane), ScalarTraits<S>::get(y, lane)));
  return result;
}

}  // namespace featherweight::FW_ISA
