// dynamics/columns_on_lanes.hpp -- columns of a single sample, kept number by number: a register takes the same number
// of several columns that follow each other.
#pragma once
#include "lanes/native.hpp"
#include "memory/arena.hpp"

namespace featherweight::FW_ISA {

template <class S>
FW_INLINE S load_lanes(const ElementOf<S>* from) {
  S x;
  __builtin_memcpy(&x, from, sizeof(x));
  return x;
}
template <class S>
FW_INLINE void store_lanes(const S& x, ElementOf<S>* to) {
  __builtin_memcpy(to, &x, sizeof(x));
}
// What all lanes have, as a number where that is asked for.
template <class N, class S>
FW_INLINE N number_of(const S& x) {
  if constexpr (__is_same(N, S))
    return x;
  else
    return ScalarTraits<S>::get(x, 0);
}
// Lanes from `begin` on.
template <class S>
FW_INLINE void put_lanes(const S& x, int begin, ElementOf<S>* to) {
  if (begin == 0) return store_lanes(x, to);
  ElementOf<S> numbers[width_of<S>];
  store_lanes(x, numbers);
  for (int lane = begin; lane < width_of<S>; ++lane) to[lane] = numbers[lane];
}

// Column: a struct of so many S. Registers may begin before the first column, where there is room.
template <class S, class Column>
class OnLanes {
 public:
  using Number = ElementOf<S>;

  OnLanes(int n_columns, Arena& arena)
      : stride_(width_of<S> > 1 ? n_columns + width_of<S> : 0),
        numbers_(arena.take<Number>(static_cast<std::size_t>(n_numbers * stride_))) {}

  FW_INLINE Column load(int k) const {
    Column x;
#pragma GCC unroll 32
    for (std::ptrdiff_t r = 0; r < n_numbers; ++r) number(x, r) = load_lanes<S>(at(r, k));
    return x;
  }
  FW_INLINE void store(int k, Column x) const {
#pragma GCC unroll 32
    for (std::ptrdiff_t r = 0; r < n_numbers; ++r) store_lanes(number(x, r), at(r, k));
  }
  // A column, which all lanes have, comes to one of them.
  static FW_INLINE void put(const Column& from, int lane, Column& to) {
    S places;
    for (int k = 0; k < width_of<S>; ++k) ScalarTraits<S>::set(places, k, Number(k));
    const auto is_earlier = places<S(Number(lane)), is_later = places> S(Number(lane));
    Column own = from;
#pragma GCC unroll 32
    for (std::ptrdiff_t r = 0; r < n_numbers; ++r)
      number(to, r) = select(is_earlier, number(to, r), select(is_later, number(to, r), number(own, r)));
  }

 private:
  static constexpr std::ptrdiff_t n_numbers = sizeof(Column) / sizeof(S);
  std::ptrdiff_t stride_;
  Number* numbers_;

  static FW_INLINE S& number(Column& x, std::ptrdiff_t r) { return reinterpret_cast<S*>(&x)[r]; }
  FW_INLINE Number* at(std::ptrdiff_t r, int k) const { return numbers_ + r * stride_ + width_of<S> + k; }
};

}  // namespace featherweight::FW_ISA
