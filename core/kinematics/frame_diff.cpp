#include "kinematics/frame_diff.hpp"

#include "runtime/kernels.hpp"
#include "runtime/lane_io.hpp"

namespace featherweight::FW_ISA {

// Results of `n_matrices` matrices of 6 x nv, filled by f(inputs, mount, workspace, matrices).
template <class T, class F>
unsigned for_each_frame(const Tree<T>& tree, const Job<T>& job, std::size_t begin, std::size_t end, Memory& memory,
                        int n_matrices, F&& f) {
  using S = Native<T>;
  Arena arena(memory);
  LaneInputs<T> in(tree, job, arena);
  const int n_out = 6 * n_matrices * tree.nv;
  S* const out = arena.take<S>(n_out);
  FrameDiffWorkspace<S> w(tree, arena);
  const Mount<T>& mount = tree.mounts[job.mount];
  if (arena.fits())
    for (int k = 0; k < n_out; ++k) out[k] = S(0);
  return for_each_pack(job, begin, end, arena, in, out, n_out,
                       [&] { f(mount, frame_diff(tree, mount, in.q, in.v, in.x, w), w, out); });
}

template <class T>
unsigned KernelOf<T>::frame_velocity_derivatives(const Tree<T>& tree, const Job<T>& job, Range begin, Range end,
                                                 Memory& memory) {
  return for_each_frame(tree, job, begin, end, memory, 2,
                        [&](const auto& mount, const auto& frame, auto& w, auto* out) {
                          frame_velocity_diff(tree, mount, job.reference, frame, w, out, out + 6 * tree.nv);
                        });
}
FW_INSTANTIATE_KERNEL(frame_velocity_derivatives);

template <class T>
unsigned KernelOf<T>::frame_acceleration_derivatives(const Tree<T>& tree, const Job<T>& job, Range begin, Range end,
                                                     Memory& memory) {
  return for_each_frame(tree, job, begin, end, memory, 3,
                        [&](const auto& mount, const auto& frame, auto& w, auto* out) {
                          frame_acceleration_diff(tree, mount, job.reference, job.classical, frame, w, out,
                                                  out + 6 * tree.nv, out + 12 * tree.nv);
                        });
}
FW_INSTANTIATE_KERNEL(frame_acceleration_derivatives);

template <class T>
unsigned KernelOf<T>::jacobian_time_derivative(const Tree<T>& tree, const Job<T>& job, Range begin, Range end,
                                               Memory& memory) {
  return for_each_frame(tree, job, begin, end, memory, 1,
                        [&](const auto& mount, const auto& frame, auto& w, auto* out) {
                          jacobian_rate(tree, mount, job.reference, frame, w, out);
                        });
}
FW_INSTANTIATE_KERNEL(jacobian_time_derivative);

}  // namespace featherweight::FW_ISA
