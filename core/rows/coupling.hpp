// rows/coupling.hpp -- joints that move each other: how far a coupling is from holding, its entries in J, its bias.
//   sum_j p_j(q_j) = 0;   E_j = p_j'(q_j);   sum_j E_j a_j + sum_j p_j''(q_j) v_j^2 = k.
//   Oracle: finite differences.
#pragma once
#include "lanes/native.hpp"
#include "rows/rows.hpp"

namespace featherweight::FW_ISA {

// A polynomial and its derivatives, all by Horner's rule.
template <class S>
struct Expansion {
  S value, slope, curvature;
};
template <class S, class C>
FW_INLINE Expansion<S> expand(const CouplingTerm<C>& term, const S& x) {
  Expansion<S> p{S(0), S(0), S(0)};  // curvature: half of it, until the end
  for (int k = term.n - 1; k >= 0; --k) {
    p.curvature = p.curvature * x + p.slope;
    p.slope = p.slope * x + p.value;
    p.value = p.value * x + S(term.polynomial[k]);
  }
  p.curvature = p.curvature + p.curvature;
  return p;
}

// How a coupling acts on the joint of one of its terms.
template <class S, class C>
FW_INLINE S coupling_entry(const CouplingTerm<C>& term, const S* q) {
  return expand(term, q[term.q]).slope;
}

// How far it is from holding, in the unit of its first joint.
template <class S, class C>
FW_INLINE S coupling_error(const Coupling& coupling, const CouplingTerm<C>* terms, const S* q) {
  S sum(0);
  for (int t = coupling.begin; t < coupling.end; ++t) sum = sum + expand(terms[t], q[terms[t].q]).value;
  return sum;
}

// The rate of that.
template <class S, class C>
FW_INLINE S coupling_velocity(const Coupling& coupling, const CouplingTerm<C>* terms, const S* q, const S* v) {
  S sum(0);
  for (int t = coupling.begin; t < coupling.end; ++t) sum = sum + coupling_entry(terms[t], q) * v[terms[t].dof];
  return sum;
}

// What is left of its second derivative at constant velocities.
template <class S, class C>
FW_INLINE S coupling_bias(const Coupling& coupling, const CouplingTerm<C>* terms, const S* q, const S* v) {
  S sum(0);
  for (int t = coupling.begin; t < coupling.end; ++t) {
    const S rate = v[terms[t].dof];
    sum = sum + expand(terms[t], q[terms[t].q]).curvature * (rate * rate);
  }
  return sum;
}

}  // namespace featherweight::FW_ISA
