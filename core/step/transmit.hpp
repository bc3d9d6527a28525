// step/transmit.hpp -- forces of tendons, of actuators on several axes, along struts or on links, and of muscles, at
// the start of the step.
//   in    q, v, w.control
//   out   w.tau, w.forces; w.motion.drive of what would drive axes beyond their velocity limit
//   Source: of muscles MuJoCo's documentation, "Muscles": curves of parabolas.
//   Oracle: MuJoCo's actuator_force, qfrc_actuator and qfrc_passive; the twin.
#pragma once
#include "step/adhere.hpp"
#include "step/strut.hpp"

namespace featherweight::FW_ISA {

// Active force by length, over the peak: a bell of four parabolas, 1 at the optimal length.
template <class S>
FW_INLINE S active_by_length(const Muscle& m, const S& L) {
  const double rise = 0.5 * (m.shortest + 1), fall = 0.5 * (1 + m.longest);
  const auto is_below = L < S(1);
  const S from = select(is_below, S(m.shortest), S(m.longest)), knee = select(is_below, S(rise), S(fall));
  const S outer = (L - from) / (knee - from), inner = (L - S(1)) / (knee - S(1));
  const S bell = select(abs(L - S(1)) < abs(knee - S(1)), S(1) - inner * inner * S(0.5), outer * outer * S(0.5));
  return select((L < S(m.shortest)) | (L > S(m.longest)), S(0), bell);
}
// Factor by velocity: none when it shortens at the fastest, most when it is stretched.
template <class S>
FW_INLINE S active_by_velocity(const Muscle& m, const S& V) {
  const double more = m.eccentric - 1;
  const S shortening = (V + S(1)) * (V + S(1));
  const S left = S(more) - V, stretching = S(m.eccentric) - left * left / S(more > 0 ? more : 1);
  return select(V <= S(-1), S(0), select(V <= S(0), shortening, select(V <= S(more), stretching, S(m.eccentric))));
}
// Force of a muscle that is stretched, over the peak: from the optimal length on.
template <class S>
FW_INLINE S passive_by_length(const Muscle& m, const S& L) {
  const double half = 0.5 * (m.longest - 1);
  const S x = (L - S(1)) * (1 / half);
  return select(L <= S(1), S(0), select(x <= S(1), x * x * S(0.5), x - S(0.5))) * m.passive;
}
template <class S>
FW_INLINE S pull_of(const Muscle& m, const S& length, const S& rate, const S& control) {
  const S L = (length - S(m.slack)) * (1 / m.optimal), V = rate * (1 / (m.optimal * m.fastest));
  return -(active_by_length(m, L) * active_by_velocity(m, V) * control + passive_by_length(m, L)) * m.peak;
}

template <class S>
void add_transmissions(const Scene& scene, StepWorkspace<S>& w) {
  for (int k = 0; k < scene.n_transmissions; ++k) {
    const Transmission& t = scene.transmissions[k];
    const TransmissionTerm* const terms = scene.transmission_terms + t.first_term;
    const int law = scene.n_actuators + k;
    S length(0), rate(0);
    for (int i = 0; i < t.n_terms; ++i) {
      if (terms[i].q >= 0) length = length + w.q[terms[i].q] * terms[i].coefficient;
      rate = rate + w.v[terms[i].dof] * terms[i].coefficient;
    }
    if (t.strut >= 0) {
      length = length + w.motion.struts.lengths[t.strut] * t.per_strut;
      rate = rate + growth_of(scene, w.motion.struts, t.strut, w.v, AllLanes<S>{}) * t.per_strut;
    }
    const S& control = w.control[law];
    const S stretch = length - clamped(length, S(t.slack[0]), S(t.slack[1]));
    S force = t.is_muscle ? pull_of(t.muscle, length, rate, control)
                          : (S(t.gain) + length * t.gain_length + rate * t.gain_rate) * control + S(t.constant) -
                                stretch * t.kp - rate * t.kd;
    force = clamped(force * w.gain_scale[law], S(t.lower), S(t.upper));
    for (int i = 0; i < t.n_terms; ++i) {
      const S along = force * terms[i].coefficient;
      w.tau[terms[i].dof] = w.tau[terms[i].dof] + along;
      if (terms[i].brake >= 0) w.motion.drive[terms[i].brake] = along;
    }
    if (t.sticky >= 0) adhere(scene, t, force, w);
    if (t.strut >= 0) push_along(scene, t.strut, force * t.per_strut, w);
    if (t.link < 0) continue;
    w.forces[t.link] += Force<S>{{force * t.wrench[0], force * t.wrench[1], force * t.wrench[2]},
                                 {force * t.wrench[3], force * t.wrench[4], force * t.wrench[5]}};
  }
}

}  // namespace featherweight::FW_ISA
