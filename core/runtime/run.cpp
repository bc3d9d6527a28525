#include "runtime/run.hpp"

#include <algorithm>
#include <atomic>
#include <new>

#include "runtime/denormals.hpp"
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
Memory& workspace() {
  thread_local Workspace instance;
  return instance.memory;
}

template <class T>
unsigned run_range(const Tree<T>& tree, Kernel<T> kernel, const Job<T>& job, std::size_t begin, std::size_t end) {
  Memory& memory = workspace();
  unsigned faults = kernel(tree, job, begin, end, memory);
  if (faults & fault::memory) {
    reserve(memory, memory.required);
    faults = kernel(tree, job, begin, end, memory);
  }
  return faults;
}

template <class T>
unsigned run_batch(const Tree<T>& tree, Kernel<T> kernel, const Job<T>& job, std::size_t batch, int n_threads) {
  const std::size_t n_tiles = (batch + tile_size - 1) / tile_size;
  if (n_threads == 1 || n_tiles == 1) {
    const FlushDenormals flush;
    return run_range(tree, kernel, job, 0, batch);
  }
  std::atomic<unsigned> faults = 0;
  run_tiles(n_tiles, n_threads, [&](std::size_t k) {
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
