#include "constrained/constrained_aba.hpp"

#include "constrained/loop_aba.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::constrained_aba(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  if (job.constraints->loops) return solve_batch<LoopAba<Native<T>>>(tree, job, begin, end, memory);
  return solve_batch<ConstrainedAba<Native<T>>>(tree, job, begin, end, memory);
}
FW_INSTANTIATE_DOUBLE_KERNEL(constrained_aba);

}  // namespace featherweight::FW_ISA
