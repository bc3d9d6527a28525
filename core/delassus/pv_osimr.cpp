#include "delassus/pv_osimr.hpp"

#include "delassus/caba_osim.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::pv_osimr(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  return delassus_batch<PvOsimr<Native<T>>>(tree, job, begin, end, memory);
}

// The inverses that start from it: in one source, since compiling them is mostly compiling pv_osimr.
template <class T>
unsigned KernelOf<T>::pv_inverse(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  return inverse_batch<DenseInverse<PvOsimr<S>, S>>(tree, job, begin, end, memory);
}
template <class T>
unsigned KernelOf<T>::caba_osim(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  return inverse_batch<CabaOsim<Native<T>>>(tree, job, begin, end, memory);
}
FW_INSTANTIATE_DOUBLE_KERNEL(pv_osimr);
FW_INSTANTIATE_DOUBLE_KERNEL(pv_inverse);
FW_INSTANTIATE_DOUBLE_KERNEL(caba_osim);

}  // namespace featherweight::FW_ISA
