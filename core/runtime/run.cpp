#include "runtime/run.hpp"

#include <algorithm>
#include <atomic>
#include <new>

#include "memory/kept.hpp"
#include "runtime/denormals.hpp"
#include "runtime/interrupt.hpp"
#include "runtime/thread_pool.hpp"

namespace featherweight {
namespace {

// Samples per tile: a multiple of every lane count, so that only the last pack of a batch is ever incomplete.
constexpr std::size_t tile_size = 64;

// One per thread, kept for the next call.
struct Workspace {
  Memory memory;
  ~Workspace() { release(memory); }
};

template <class T>
unsigned run_range(const Tree<T>& tree, Kernel<T> kernel, const Job<T>& job, std::size_t begin, std::size_t end) {
  const Kept<Workspace> workspace;
  Memory& memory = workspace->memory;
  unsigned faults = kernel(tree, job, begin, end, memory);
  if (faults & fault::memory) {
    reserve(memory, memory.required);
    faults = kernel(tree, job, begin, end, memory);
  }
  return faults;
}

// Very roughly: most algorithms visit every pair of degrees of freedom, or less.
template <class T>
std::size_t operations_per_tile(const Tree<T>& tree) {
  const std::size_t n = static_cast<std::size_t>(tree.nv) + 1;
  return tile_size * 10 * n * n;
}
// Between two looks at whether to stop, some milliseconds.
constexpr std::size_t operations_at_once = 10'000'000;

template <class T>
unsigned run_batch(const Tree<T>& tree, Kernel<T> kernel, const Job<T>& job, std::size_t batch, int n_threads) {
  const std::size_t n_tiles = (batch + tile_size - 1) / tile_size;
  if (n_threads == 1 || n_tiles == 1) {
    const FlushDenormals flush;
    const std::size_t stretch = tile_size * (1 + operations_at_once / operations_per_tile(tree));
    unsigned faults = 0;
    for (std::size_t begin = 0; begin < batch && !interrupted(operations_at_once); begin += stretch)
      faults |= run_range(tree, kernel, job, begin, std::min(begin + stretch, batch));
    return faults;
  }
  std::atomic<unsigned> faults = 0;
  run_tiles(n_tiles, n_threads, [&](std::size_t k) {
    if (interrupted(static_cast<double>(operations_per_tile(tree)))) return;
    const FlushDenormals flush;
    const std::size_t begin = k * tile_size;
    try {
      faults |= run_range(tree, kernel, job, begin, std::min(begin + tile_size, batch));
    } catch (const std::bad_alloc&) {
      faults |= fault::memory;
    }
  });
  if (faults & fault::memory) throw std::bad_alloc();
  return faults;
}

}  // namespace

template <class T>
unsigned run_kernel(const Model& model, Kernel<T> kernel, const Job<T>& job, std::size_t batch, int n_threads) {
  if (!job.weightless) return run_batch(model.tree<T>(), kernel, job, batch, n_threads);
  Tree<T> tree = model.tree<T>();
  for (T& g : tree.gravity) g = T(0);
  return run_batch(tree, kernel, job, batch, n_threads);
}

template unsigned run_kernel(const Model&, Kernel<double>, const Job<double>&, std::size_t, int);
template unsigned run_kernel(const Model&, Kernel<float>, const Job<float>&, std::size_t, int);

}  // namespace featherweight
