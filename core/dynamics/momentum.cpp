#include "dynamics/momentum.hpp"

#include "runtime/kernels.hpp"
#include "runtime/lane_io.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::center_of_mass(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  S *out = arena.take<S>(3), *state = arena.take<S>(tree.n_states);
  Vec3<S>* h = arena.take<Vec3<S>>(tree.n_links);
  return for_each_pack(job, begin, end, arena, in, out, 3, [&] {
    const Vec3<S> com = first_moment(tree, in.q, state, h) * (T(1) / tree.mass);
    for (int k = 0; k < 3; ++k) out[k] = com[k];
  });
}
FW_INSTANTIATE_KERNEL(center_of_mass);

template <class T>
unsigned KernelOf<T>::potential_energy(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  S *out = arena.take<S>(1), *state = arena.take<S>(tree.n_states);
  Vec3<S>* h = arena.take<Vec3<S>>(tree.n_links);
  return for_each_pack(job, begin, end, arena, in, out, 1,
                       [&] { out[0] = -dot(first_moment(tree, in.q, state, h), vec3(tree.gravity)); });
}
FW_INSTANTIATE_KERNEL(potential_energy);

template <class T>
unsigned KernelOf<T>::kinetic_energy(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  S *out = arena.take<S>(1), *state = arena.take<S>(tree.n_states);
  Motion<S>* motion = arena.take<Motion<S>>(tree.n_links);
  Force<S>* momentum = arena.take<Force<S>>(tree.n_links);
  return for_each_pack(job, begin, end, arena, in, out, 1,
                       [&] { out[0] = FW_ISA::kinetic_energy(tree, in.q, in.v, state, motion, momentum); });
}
FW_INSTANTIATE_KERNEL(kinetic_energy);

template <class T>
unsigned KernelOf<T>::centroidal_momentum(const Tree<T>& tree, const Job<T>& job, Range begin, Range end,
                                          Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  S *out = arena.take<S>(6), *state = arena.take<S>(tree.n_states);
  Motion<S>* motion = arena.take<Motion<S>>(tree.n_links);
  Force<S>* momentum = arena.take<Force<S>>(tree.n_links);
  Vec3<S>* h = arena.take<Vec3<S>>(tree.n_links);
  return for_each_pack(job, begin, end, arena, in, out, 6, [&] {
    const Force<S> total = FW_ISA::centroidal_momentum(tree, in.q, in.v, state, motion, momentum, h);
    for (int k = 0; k < 3; ++k) out[k] = total.lin[k], out[3 + k] = total.ang[k];
  });
}
FW_INSTANTIATE_KERNEL(centroidal_momentum);

}  // namespace featherweight::FW_ISA
