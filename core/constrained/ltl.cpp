#include "constrained/ltl.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::ltl(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  return solve_batch<Ltl<Native<T>>>(tree, job, begin, end, memory);
}
FW_INSTANTIATE_DOUBLE_KERNEL(ltl);

}  // namespace featherweight::FW_ISA
