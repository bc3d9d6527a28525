#include "delassus/ltl_osim.hpp"

#include "delassus/inverse.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::ltl_osim(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  return delassus_batch<LtlOsim<Native<T>>>(tree, job, begin, end, memory);
}
template <class T>
unsigned KernelOf<T>::ltl_inverse(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  return inverse_batch<DenseInverse<LtlOsim<S>, S>>(tree, job, begin, end, memory);
}
FW_INSTANTIATE_DOUBLE_KERNEL(ltl_osim);
FW_INSTANTIATE_DOUBLE_KERNEL(ltl_inverse);

}  // namespace featherweight::FW_ISA
