// lanes/transpose.hpp -- between samples, each contiguous in memory, and lanes, which hold one number of every sample.
//
// Sixteen bytes of each sample are moved at a time: a register takes the same piece of several samples, and these are
// transposed inside every 16-byte part of it, where shuffles are cheap. Filling lanes one by one costs three to four
// times as many shuffles.
#pragma once
#include <cstddef>

#include "lanes/lanes.hpp"

namespace featherweight::FW_ISA {

template <int... k>
struct Indices {};
template <int n, int... k>
struct IndicesUpTo : IndicesUpTo<n - 1, n - 1, k...> {};
template <int... k>
struct IndicesUpTo<0, k...> {
  using Type = Indices<k...>;
};

// A single lane: number after number.
template <class S>
struct Transpose {
  static constexpr int columns = 1;

  template <class T>
  static FW_INLINE void load(const T* const* sample, std::ptrdiff_t at, S* x) {
    ScalarTraits<S>::set(*x, 0, sample[0][at]);
  }
  template <class T>
  static FW_INLINE void store(T* const* sample, std::ptrdiff_t at, const S* x) {
    sample[0][at] = static_cast<T>(ScalarTraits<S>::get(*x, 0));
  }
};

template <class T, int Bytes>
struct Transpose<Lanes<T, Bytes>> {
  using S = Lanes<T, Bytes>;
  using Vector = typename S::Vector;
  static constexpr int width = S::width;
  static constexpr int columns = 16 / static_cast<int>(sizeof(T));  // numbers of a sample in one piece

  // x[c] = number at + c of each sample.
  static FW_INLINE void load(const T* const* sample, std::ptrdiff_t at, S* x) {
    Vector rows[columns];
#pragma GCC unroll 4
    for (int r = 0; r < columns; ++r)
      rows[r] = gather<Bytes>([&](int part) FW_LAMBDA_INLINE { return sample[part * columns + r] + at; });
    transpose(rows);
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) x[c] = S::of(rows[c]);
  }
  static FW_INLINE void store(T* const* sample, std::ptrdiff_t at, const S* x) {
    Vector rows[columns];
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) rows[c] = x[c].x;
    transpose(rows);
#pragma GCC unroll 4
    for (int r = 0; r < columns; ++r) {
      const Parts parts = __builtin_bit_cast(Parts, rows[r]);
#pragma GCC unroll 4
      for (int part = 0; part < Bytes / 16; ++part)
        *reinterpret_cast<Piece*>(sample[part * columns + r] + at) = parts.e[part];
    }
  }

 private:
  typedef T Piece __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));
  struct Parts {
    T __attribute__((vector_size(16))) e[Bytes / 16];
  };

  template <int bytes, class Where>
  static FW_INLINE auto gather(Where&& where, int first = 0) {
    if constexpr (bytes == 16) {
      typedef T Aligned __attribute__((vector_size(16)));
      return static_cast<Aligned>(*reinterpret_cast<const Piece*>(where(first)));
    } else {
      return join(gather<bytes / 2>(where, first), gather<bytes / 2>(where, first + bytes / 32),
                  typename IndicesUpTo<bytes / static_cast<int>(sizeof(T))>::Type{});
    }
  }
  template <class Half, int... k>
  static FW_INLINE auto join(const Half& a, const Half& b, Indices<k...>) {
    return __builtin_shufflevector(a, b, k...);
  }

  // Every 16-byte part by itself.
  static FW_INLINE void transpose(Vector* x) {
    if constexpr (columns == 2) {
      const Vector a = x[0], b = x[1];
      x[0] = interleave<1, 0>(a, b), x[1] = interleave<1, 1>(a, b);
    } else {
      const Vector a = interleave<1, 0>(x[0], x[1]), b = interleave<1, 1>(x[0], x[1]);
      const Vector c = interleave<1, 0>(x[2], x[3]), d = interleave<1, 1>(x[2], x[3]);
      x[0] = interleave<2, 0>(a, c), x[1] = interleave<2, 1>(a, c);
      x[2] = interleave<2, 0>(b, d), x[3] = interleave<2, 1>(b, d);
    }
  }
  // The lower or upper half of each part of a and b, in turns of `unit` numbers.
  template <int unit, int half>
  static FW_INLINE Vector interleave(const Vector& a, const Vector& b) {
    return interleave<unit, half>(a, b, typename IndicesUpTo<width>::Type{});
  }
  template <int unit, int half, int... k>
  static FW_INLINE Vector interleave(const Vector& a, const Vector& b, Indices<k...>) {
    return __builtin_shufflevector(a, b, interleaved(k, unit, half)...);
  }
  static constexpr int interleaved(int lane, int unit, int half) {
    const int part = lane / columns * columns, k = lane % columns, turn = k / unit;
    return part + half * (columns / 2) + turn / 2 * unit + k % unit + (turn % 2 ? width : 0);
  }
};

}  // namespace featherweight::FW_ISA
