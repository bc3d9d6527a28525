#include "constrained/kkt.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::kkt(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  return solve_batch<Kkt<Native<T>>>(tree, job, begin, end, memory);
}
FW_INSTANTIATE_DOUBLE_KERNEL(kkt);

}  // namespace featherweight::FW_ISA
