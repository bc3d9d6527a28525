// dynamics/carry.hpp -- how inward sweeps pass quantities from child to parent.
//
// Links are swept in reverse depth-first order, so the last child swept is link i+1 and what it hands over is simply
// still in hand: the carry. Only the other children of a branching link need a place to wait, its accumulator.
#pragma once
#include "lanes/config.hpp"
#include "model/tree.hpp"

namespace featherweight::FW_ISA {

// What the children of link l left for it, beside the carry.
template <class X, class C>
FW_INLINE void collect(const Link<C>& l, const X* accumulators, X& carry) {
  if (l.collects >= 0) carry += accumulators[l.collects];
}
// All that the children of link l left for it.
template <class X, class C>
FW_INLINE void take_over(const Link<C>& l, const X* accumulators, const X& nothing, X& carry) {
  if (!l.carries) carry = nothing;
  collect(l, accumulators, carry);
}
// What link l leaves for its parent. The first to arrive at an accumulator clears it.
template <class X, class C>
FW_INLINE void hand_over(const Link<C>& l, const X& carry, X* accumulators) {
  if (l.adds_to < 0) return;
  if (l.arrives_first)
    accumulators[l.adds_to] = carry;
  else
    accumulators[l.adds_to] += carry;
}

}  // namespace featherweight::FW_ISA
