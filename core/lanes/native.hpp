// lanes/native.hpp -- the scalar types of this build: Native<double> and Native<float>.
#pragma once
#include "lanes/sincos.hpp"

namespace featherweight::FW_ISA {

#if defined(FW_COUNTING)
template <class T>
struct NativeOf {
  using Type = Counted;  // both precisions count alike
};
#elif FW_LANE_BYTES == 0
template <class T>
struct NativeOf {
  using Type = T;
};
#else
template <class T>
struct NativeOf {
  using Type = Lanes<T, FW_LANE_BYTES>;
};
#endif
template <class T>
using Native = typename NativeOf<T>::Type;

}  // namespace featherweight::FW_ISA
