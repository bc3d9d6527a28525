#include "constrained/limb_pv.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::limb_pv(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  return solve_batch<LimbPv<Native<T>>>(tree, job, begin, end, memory);
}
FW_INSTANTIATE_DOUBLE_KERNEL(limb_pv);

}  // namespace featherweight::FW_ISA
