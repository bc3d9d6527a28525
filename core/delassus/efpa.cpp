#include "delassus/efpa.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::efpa(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  return delassus_batch<Efpa<Native<T>>>(tree, job, begin, end, memory);
}
FW_INSTANTIATE_DOUBLE_KERNEL(efpa);

}  // namespace featherweight::FW_ISA
