#include "constrained/pv_soft.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::pv_soft(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  return solve_batch<PvSoft<Native<T>>>(tree, job, begin, end, memory);
}
FW_INSTANTIATE_DOUBLE_KERNEL(pv_soft);

}  // namespace featherweight::FW_ISA
