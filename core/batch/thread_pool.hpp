// batch/thread_pool.hpp -- threads that wait for tiles of work.
#pragma once
#include <cstddef>
#include <functional>

namespace featherweight {

// Cores this process may run on.
int available_threads();

// Runs tile(0) ... tile(n_tiles - 1) on up to n_threads threads, the caller among them. Tiles must not throw and must
// not depend on which thread runs them. Callers from several threads take turns.
void run_tiles(std::size_t n_tiles, int n_threads, const std::function<void(std::size_t)>& tile);

}  // namespace featherweight
