// step/along_row.hpp -- where a row of joints is, and how it moves: along one joint, the joints of a tendon, or a
// strut.
#pragma once
#include "step/strut_lengths.hpp"

namespace featherweight::FW_ISA {

// Of velocities x, or of their changes. Read: of a number, or of one lane of it.
template <class S, class Read>
auto along_row(const Scene& scene, const StrutState<S>& struts, const JointRow& row, const S* x, const Read& read) {
  if (row.strut >= 0) return growth_of(scene, struts, row.strut, x, read) * row.term.coefficient;
  auto sum = read(x[row.term.dof]) * row.term.coefficient;
  for (int k = row.first_more; k < row.first_more + row.n_more; ++k)
    sum = sum + read(x[scene.tendon_terms[k].dof]) * scene.tendon_terms[k].coefficient;
  return sum;
}

// How far a limit is [m or rad], negative beyond it.
template <class S, class Read>
auto gap_of_row(const Scene& scene, const StrutState<S>& struts, const JointRow& row, const S* q, const Read& read) {
  if (row.strut >= 0) return read(struts.lengths[row.strut]) * row.term.coefficient - row.bound;
  if (!row.is_tendon()) return (read(q[row.term.q]) - row.bound) * row.term.coefficient;
  auto length = read(q[row.term.q]) * row.term.coefficient;
  for (int k = row.first_more; k < row.first_more + row.n_more; ++k)
    length = length + read(q[scene.tendon_terms[k].q]) * scene.tendon_terms[k].coefficient;
  return length - row.bound;
}

}  // namespace featherweight::FW_ISA
