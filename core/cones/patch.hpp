// cones/patch.hpp -- the few blocks of a pile that are furthest off their laws, and those around them.
//
// In a pile that is almost solved a handful of contacts may still be undecided between sticking and sliding, or open
// and closed. They and their surroundings are worth all the effort that a small problem gets.
#pragma once
#include "cones/part.hpp"

namespace featherweight::FW_ISA {

// The worst blocks first, then as many rings of loaded blocks around them as fit.
inline void choose_patch(const ConeProblem& whole, const ContactWorkspace& w, const double* impulses, Part& patch) {
  using Tuning = PatchTuning;
  const auto carries = [&](const Block& b) {
    bool any = false;
    for (int r = 0; r < b.rows; ++r) any |= impulses[b.first + r] != 0;
    return any;
  };
  double least = natural_residual(whole, w, impulses, w.sigma);
  for (int halved = 0; halved < Tuning::halvings; ++halved) {
    least = max_of(0.5 * least, w.tolerance);
    for (int j = 0; j < whole.n_blocks && patch.rows() < Tuning::most_worst_rows; ++j)
      if (w.moves(j) && natural_residual2(whole.blocks[j], w.D[j], impulses, w.sigma) > least * least)
        patch.add(whole, j);
  }
  for (int first = 0, last; first < patch.blocks(); first = last) {
    last = patch.blocks();
    for (int k = first; k < last; ++k)
      for (int s = whole.G.start[patch.block(k)]; s < whole.G.start[patch.block(k) + 1]; ++s) {
        const int j = whole.G.neighbour[s];
        if (!carries(whole.blocks[j])) continue;
        if (patch.rows() + whole.blocks[j].rows > Tuning::most_rows || !patch.add(whole, j)) return;
      }
  }
}

}  // namespace featherweight::FW_ISA
