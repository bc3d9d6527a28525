// runtime/lane_io.hpp -- samples in and out of lanes, and the loop over a batch.
//
// Arrays are sample-major; a kernel works on `width` samples at once. The last pack is filled up with copies of its
// last sample, so every lane is always a valid state and a sample's bits do not depend on where it stands.
// Loading also watches the values: x * 0 is NaN exactly for what is not finite, which costs one operation per pack.
#pragma once
#include "lanes/transpose.hpp"
#include "memory/arena.hpp"
#include "model/joints.hpp"
#include "runtime/job.hpp"

namespace featherweight::FW_ISA {

// Samples [first, first + count) of a batch, count <= width.
struct Pack {
  std::size_t first;
  int count;
};

template <class S>
class Watch {
 public:
  FW_INLINE void see(const S& poison) { poison_ = poison_ + poison; }  // a sum of x * 0
  FW_INLINE void see_unit(const S& e) { off_unit_ = select(abs(e) <= S(2e-6), off_unit_, S(1)); }
  FW_INLINE bool finite() const { return !any(poison_, not_zero(poison_)); }
  FW_INLINE bool unit() const { return !any(off_unit_, off_unit_ > S(0.5)); }

 private:
  static FW_INLINE auto not_zero(const S& x) {
    const auto is_zero = x <= S(0);  // false for NaN
    if constexpr (width_of<S> == 1)
      return !is_zero;
    else
      return ~is_zero;
  }
  S poison_ = S(0), off_unit_ = S(0);
};

// All n numbers of the samples, several at a time; the last ones are moved together with some that already were. Fewer
// than that are moved one by one.
template <class S, class Several, class One>
FW_INLINE void for_columns(int n, Several&& several, One&& one) {
  constexpr int columns = Transpose<S>::columns;
  int k = 0;
  for (; k + columns <= n; k += columns) several(k);
  if (k == n) return;
  if (n > columns) return several(n - columns);
  for (; k < n; ++k)
    for (int lane = 0; lane < width_of<S>; ++lane) one(k, lane);
}

template <class S, class T>
FW_INLINE void load(const Input<T>& in, const Pack& pack, int n, S* x, Watch<S>& watch) {
  constexpr int width = width_of<S>;
  const T* sample[width];
  for (int lane = 0; lane < width; ++lane)
    sample[lane] =
        in.data + in.stride * static_cast<std::ptrdiff_t>(pack.first + (lane < pack.count ? lane : pack.count - 1));
  S poison(0);  // a register: the sum would otherwise wait for memory at every step
  for_columns<S>(
      n,
      [&](int k) FW_LAMBDA_INLINE {
        Transpose<S>::load(sample, k, x + k);
        for (int c = 0; c < Transpose<S>::columns; ++c) poison = poison + x[k + c] * S(0);
      },
      [&](int k, int lane) FW_LAMBDA_INLINE {
        ScalarTraits<S>::set(x[k], lane, sample[lane][k]);
        poison = poison + sample[lane][k] * T(0);
      });
  watch.see(poison);
}

// Configurations: quaternions within 1e-6 of unit length are normalised, others are a fault. So close to one,
// 1/sqrt(1 + e) is its own series: the next term is below 1e-22.
template <class S, class T, class C>
FW_INLINE void load_configuration(const Tree<C>& tree, const Input<T>& in, const Pack& pack, S* q, Watch<S>& watch) {
  load(in, pack, tree.nq, q, watch);
  for (int k = 0; k < tree.n_quaternions; ++k) {
    S* x = q + tree.quaternions[k];
    const S e = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3] - S(1);
    watch.see_unit(e);
    const S scale = S(1) + e * (S(-0.5) + e * (S(0.375) - S(0.3125) * e));
    for (int c = 0; c < 4; ++c) x[c] = x[c] * scale;
  }
}

template <class S, class T>
FW_INLINE void store(const S* x, int n, const Pack& pack, T* out, std::ptrdiff_t stride) {
  constexpr int width = width_of<S>;
  T* sample[width];
  for (int lane = 0; lane < width; ++lane)
    sample[lane] = out + stride * static_cast<std::ptrdiff_t>(pack.first + (lane < pack.count ? lane : pack.count - 1));
  // surplus lanes repeat the last sample, so writing them again changes nothing
  for_columns<S>(
      n, [&](int k) FW_LAMBDA_INLINE { Transpose<S>::store(sample, k, x + k); },
      [&](int k, int lane) FW_LAMBDA_INLINE { sample[lane][k] = static_cast<T>(ScalarTraits<S>::get(x[k], lane)); });
}

// `value` in lanes where all of x is finite, zero in others.
template <class S>
FW_INLINE S where_finite(const S* x, int n, const S& value) {
  S poison(0);
  for (int k = 0; k < n; ++k) poison = poison + x[k] * S(0);
  return select(poison <= S(0), value, S(0));  // false for NaN
}

// External forces on the user's links, summed on the compiled links that carry them.
template <class S, class T, class C>
FW_INLINE void load_forces(const Tree<C>& tree, const Input<T>& in, const Pack& pack, Force<S>* f, S* scratch,
                           Watch<S>& watch) {
  load(in, pack, 6 * tree.n_user_links, scratch, watch);
  for (int i = 0; i < tree.n_links; ++i) f[i] = zero_force<S>();
  for (int k = 0; k < tree.n_user_links; ++k) {
    const Mount<C>& mount = tree.mounts[k];
    if (mount.link < 0) continue;  // fixed to the world
    const S* x = scratch + 6 * k;
    const Force<S> local{{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
    f[mount.link] += shift_to_parent(to_parent(Rotation<C>{mat3(mount.R)}, local), vec3(mount.p));
  }
}

// The inputs of one job, pack by pack. A null input stays zero.
template <class T>
class LaneInputs {
 public:
  using S = Native<T>;
  S *q, *v, *x, *w = nullptr;
  Force<S>* f_ext = nullptr;

  LaneInputs(const Tree<T>& tree, const Job<T>& job, Arena& arena, bool x_is_configuration = false)
      : q(arena.take<S>(tree.nq)),
        v(arena.take<S>(tree.nv)),
        x(arena.take<S>(x_is_configuration ? tree.nq : tree.nv)),
        tree_(tree),
        job_(job),
        x_is_configuration_(x_is_configuration) {
    if (job.w.data) w = arena.take<S>(tree.nv);
    if (!job.f_ext.data) return;
    f_ext = arena.take<Force<S>>(tree.n_links);
    scratch_ = arena.take<S>(6 * tree.n_user_links);
  }
  // Before the first pack, once the arena fits.
  FW_INLINE void clear() {
    for (int k = 0; k < tree_.nv && !job_.v.data; ++k) v[k] = S(0);
    for (int k = 0; k < tree_.nv && !job_.x.data; ++k) x[k] = S(0);
  }
  FW_INLINE void load_pack(const Pack& pack) {
    load_configuration(tree_, job_.q, pack, q, q_watch_);
    if (job_.v.data) load(job_.v, pack, tree_.nv, v, v_watch_);
    if (job_.x.data && x_is_configuration_) load_configuration(tree_, job_.x, pack, x, x_watch_);
    if (job_.x.data && !x_is_configuration_) load(job_.x, pack, tree_.nv, x, x_watch_);
    if (w) load(job_.w, pack, tree_.nv, w, w_watch_);
    if (f_ext) load_forces(tree_, job_.f_ext, pack, f_ext, scratch_, f_watch_);
  }
  FW_INLINE unsigned faults() const {
    return (q_watch_.finite() ? 0 : fault::q) | (v_watch_.finite() ? 0 : fault::v) |
           (x_watch_.finite() ? 0 : fault::x) | (f_watch_.finite() ? 0 : fault::f_ext) |
           (w_watch_.finite() ? 0 : fault::w) | (q_watch_.unit() ? 0 : fault::q_quaternion) |
           (x_watch_.unit() ? 0 : fault::x_quaternion);
  }

 private:
  const Tree<T>& tree_;
  const Job<T>& job_;
  bool x_is_configuration_;
  S* scratch_ = nullptr;
  Watch<S> q_watch_, v_watch_, x_watch_, f_watch_, w_watch_;
};

// Runs `step` on every pack of samples [begin, end), with its inputs loaded.
template <class T, class Step>
FW_INLINE unsigned for_each_pack(std::size_t begin, std::size_t end, Arena& arena, LaneInputs<T>& in, Step&& step) {
  if (!arena.fits()) return fault::memory;
  in.clear();
  constexpr int width = width_of<Native<T>>;
  for (std::size_t first = begin; first < end; first += width) {
    const std::size_t left = end - first;
    const Pack pack{first, left < width ? static_cast<int>(left) : width};
    in.load_pack(pack);
    step(pack);
  }
  return in.faults();
}
// The same where every sample results in n_out numbers, left by `step` in out.
template <class T, class Step>
FW_INLINE unsigned for_each_pack(const Job<T>& job, std::size_t begin, std::size_t end, Arena& arena, LaneInputs<T>& in,
                                 const Native<T>* out, int n_out, Step&& step) {
  return for_each_pack(begin, end, arena, in, [&](const Pack& pack) {
    step();
    store(out, n_out, pack, job.out, job.out_stride);
  });
}

}  // namespace featherweight::FW_ISA
