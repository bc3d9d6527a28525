#include "constrained/limb_pv.hpp"

#include "constrained/loop_pv.hpp"
#include "constrained/prox_pv.hpp"
#include "constrained/pv_early.hpp"

namespace featherweight::FW_ISA {

// This many rows cost as much to solve at the root as to carry there.
constexpr int few_rows = 48;

template <class T>
unsigned KernelOf<T>::limb_pv(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  if (job.constraints->loops) return solve_batch<LoopPv<S, ProxPv<S>>>(tree, job, begin, end, memory);
  return job.constraints->n_rows <= few_rows ? solve_batch<LimbPv<S, ProxPv<S>>>(tree, job, begin, end, memory)
                                             : solve_batch<LimbPv<S, PvEarly<S>>>(tree, job, begin, end, memory);
}
FW_INSTANTIATE_DOUBLE_KERNEL(limb_pv);

}  // namespace featherweight::FW_ISA
