// runtime/sample_io.hpp -- the loop over a batch for work that takes a single sample in a good part of the time of a
// pack, because it has the lanes to itself.
#pragma once
#include "runtime/lane_io.hpp"

namespace featherweight::FW_ISA {

// Runs of_pack(pack) on every pack of samples [begin, end), and of_sample(k) on each of the last ones where they are
// few: all lanes of the inputs are then that sample.
template <class T, class OfPack, class OfSample>
FW_INLINE unsigned for_each_pack_or_sample(std::size_t begin, std::size_t end, Arena& arena, LaneInputs<T>& in,
                                           OfPack&& of_pack, OfSample&& of_sample) {
  constexpr std::size_t width = width_of<Native<T>>, few = width > 4 ? width / 4 : width > 1 ? 1 : 0;
  const std::size_t rest = (end - begin) % width, n_single = rest <= few ? rest : 0;
  unsigned faults = for_each_pack(begin, end - n_single, arena, in, of_pack);
  if constexpr (few > 0)
    for (std::size_t k = end - n_single; k < end; ++k)
      faults |= for_each_pack(k, k + 1, arena, in, [&](const Pack& pack) { of_sample(pack.first); });
  return faults;
}

}  // namespace featherweight::FW_ISA
