#include "delassus/inverse.hpp"
#include "delassus/ltl_osim.hpp"
#include "delassus/pv_osim.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::ltl_inverse(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  return inverse_batch<DenseInverse<LtlOsim<S>, S>>(tree, job, begin, end, memory);
}
template <class T>
unsigned KernelOf<T>::pv_inverse(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  return inverse_batch<DenseInverse<PvOsim<S>, S>>(tree, job, begin, end, memory);
}
FW_INSTANTIATE_DOUBLE_KERNEL(ltl_inverse);
FW_INSTANTIATE_DOUBLE_KERNEL(pv_inverse);

}  // namespace featherweight::FW_ISA
