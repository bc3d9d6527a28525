// cones/patch.hpp -- the few blocks of a heap that are furthest off their laws, and what is around them.
//
// In a heap that is almost solved a handful of contacts may still be undecided between sticking and sliding, or open
// and closed. They and what is around them are worth everything that small problems get.
#pragma once
#include "cones/part.hpp"

namespace featherweight::FW_ISA {

// The worst blocks for a quarter of the room, and as many rings of blocks with impulses around them as there is room
// for.
inline void choose_patch(const ConeProblem& whole, const ContactWorkspace& w, const double* impulses, Part& patch) {
  constexpr int most_rows = 192;
  const auto carries = [&](const Block& b) {
    bool any = false;
    for (int r = 0; r < b.rows; ++r) any |= impulses[b.first + r] != 0;
    return any;
  };
  double least = natural_residual(whole, w, impulses, w.sigma);
  for (int halved = 0; halved < 3; ++halved) {
    least = max_of(0.5 * least, w.tolerance);
    for (int j = 0; j < whole.n_blocks && patch.rows() < most_rows / 4; ++j)
      if (w.moves(j) && natural_residual2(whole.blocks[j], w.D[j], impulses, w.sigma) > least * least)
        patch.add(whole, j);
  }
  for (int first = 0, last; first < patch.blocks(); first = last) {
    last = patch.blocks();
    for (int k = first; k < last; ++k)
      for (int s = whole.G.start[patch.block(k)]; s < whole.G.start[patch.block(k) + 1]; ++s) {
        const int j = whole.G.neighbour[s];
        if (!carries(whole.blocks[j])) continue;
        if (patch.rows() + whole.blocks[j].rows > most_rows || !patch.add(whole, j)) return;
      }
  }
}

}  // namespace featherweight::FW_ISA
