#include "constrained/pv_early.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::pv_early(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  return solve_batch<PvEarly<Native<T>>>(tree, job, begin, end, memory);
}
FW_INSTANTIATE_DOUBLE_KERNEL(pv_early);

}  // namespace featherweight::FW_ISA
