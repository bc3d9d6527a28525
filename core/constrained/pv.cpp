#include "constrained/prox_pv.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::pv(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  return solve_batch<Pv<Native<T>>>(tree, job, begin, end, memory);
}
template <class T>
unsigned KernelOf<T>::prox_pv(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  return solve_batch<ProxPv<Native<T>>>(tree, job, begin, end, memory);
}
FW_INSTANTIATE_DOUBLE_KERNEL(pv);
FW_INSTANTIATE_DOUBLE_KERNEL(prox_pv);

}  // namespace featherweight::FW_ISA
