#include "batch/run.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "batch/denormals.hpp"
#include "batch/thread_pool.hpp"

namespace featherweight {
namespace {

// Samples per tile: a multiple of every lane count, so that only the last pack of a batch is ever incomplete.
constexpr std::size_t tile_size = 64;

std::atomic<long> allocations = 0;

// One per thread, kept for the next call.
class Workspace {
 public:
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() { std::free(memory_.data); }

  Memory& memory() { return memory_; }
  void grow() {
    std::free(memory_.data);
    memory_.data = nullptr;
    memory_.size = 0;
    const std::size_t size = (memory_.required + 4095) / 4096 * 4096;
    memory_.data = std::aligned_alloc(64, size);
    if (!memory_.data) throw std::bad_alloc();
    memory_.size = size;
    count_workspace_allocation();
  }

 private:
  Memory memory_;
};

Workspace& workspace() {
  thread_local Workspace instance;
  return instance;
}

template <class T>
unsigned run_range(const Tree<T>& tree, Kernel<T> kernel, const Job<T>& job, std::size_t begin, std::size_t end) {
  Workspace& space = workspace();
  unsigned faults = kernel(tree, job, begin, end, space.memory());
  if (faults & fault::memory) {
    space.grow();
    faults = kernel(tree, job, begin, end, space.memory());
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

long workspace_allocations() { return allocations; }
void count_workspace_allocation() { ++allocations; }

}  // namespace featherweight
