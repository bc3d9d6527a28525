#include "delassus/efpa.hpp"

#include "delassus/kjr.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::efpa(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  return delassus_batch<Efpa<Native<T>>>(tree, job, begin, end, memory);
}
template <class T>
unsigned KernelOf<T>::kjr(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  return delassus_batch<Kjr<Native<T>>>(tree, job, begin, end, memory);
}
FW_INSTANTIATE_DOUBLE_KERNEL(efpa);
FW_INSTANTIATE_DOUBLE_KERNEL(kjr);

}  // namespace featherweight::FW_ISA
