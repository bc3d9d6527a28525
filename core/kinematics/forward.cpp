#include "kinematics/forward.hpp"

#include "runtime/kernels.hpp"
#include "runtime/lane_io.hpp"

namespace featherweight::FW_ISA {

template <class T>
unsigned KernelOf<T>::forward_kinematics(const Tree<T>& tree, const Job<T>& job, Range begin, Range end,
                                         Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  const int n_out = 16 * tree.n_user_links;
  S *out = arena.take<S>(n_out), *state = arena.take<S>(tree.n_states);
  Pose<S>* poses = arena.take<Pose<S>>(tree.n_links);
  return for_each_pack(job, begin, end, arena, in, out, n_out,
                       [&] { FW_ISA::forward_kinematics(tree, in.q, state, poses, out); });
}
FW_INSTANTIATE_KERNEL(forward_kinematics);

template <class T>
unsigned KernelOf<T>::frame_placement(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  S *out = arena.take<S>(16), *state = arena.take<S>(tree.n_states);
  const Mount<T>& mount = tree.mounts[job.mount];
  return for_each_pack(job, begin, end, arena, in, out, 16,
                       [&] { write_pose(placement(tree, mount, in.q, state), out); });
}
FW_INSTANTIATE_KERNEL(frame_placement);

template <class T>
unsigned KernelOf<T>::frame_velocity(const Tree<T>& tree, const Job<T>& job, Range begin, Range end, Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  S *out = arena.take<S>(6), *state = arena.take<S>(tree.n_states);
  const Mount<T>& mount = tree.mounts[job.mount];
  return for_each_pack(job, begin, end, arena, in, out, 6, [&] {
    const Motion<S> v = motion_of(tree, mount, in.q, in.v, in.x, state).v;
    write_motion(express(v, placement(tree, mount, in.q, state), job.reference), out);
  });
}
FW_INSTANTIATE_KERNEL(frame_velocity);

template <class T>
unsigned KernelOf<T>::frame_acceleration(const Tree<T>& tree, const Job<T>& job, Range begin, Range end,
                                         Memory& memory) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  S *out = arena.take<S>(6), *state = arena.take<S>(tree.n_states);
  const Mount<T>& mount = tree.mounts[job.mount];
  return for_each_pack(job, begin, end, arena, in, out, 6, [&] {
    VelocityAndAcceleration<S> m = motion_of(tree, mount, in.q, in.v, in.x, state);
    const Pose<S> pose = placement(tree, mount, in.q, state);
    m = {express(m.v, pose, job.reference), express(m.a, pose, job.reference)};
    if (job.classical) add_cross(m.a.lin, m.v.ang, m.v.lin);
    write_motion(m.a, out);
  });
}
FW_INSTANTIATE_KERNEL(frame_acceleration);

}  // namespace featherweight::FW_ISA
