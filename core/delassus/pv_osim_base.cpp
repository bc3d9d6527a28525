#include "delassus/pv_osim_base.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::pv_osim_base(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  return inverse_batch<PvOsimBase<Native<T>>>(tree, job, begin, end, memory);
}
FW_INSTANTIATE_DOUBLE_KERNEL(pv_osim_base);

}  // namespace featherweight::FW_ISA
