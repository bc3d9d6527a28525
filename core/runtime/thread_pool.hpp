// runtime/thread_pool.hpp -- threads that wait for tiles of work.
#pragma once
#include <cstddef>

namespace featherweight {

namespace detail {
void run_tiles(std::size_t n_tiles, int n_threads, void (*tile)(void* context, std::size_t k), void* context);
}

// Runs tile(0) ... tile(n_tiles - 1) on up to n_threads threads, the caller among them, but never on more than there
// are cores. Tiles must not throw and must not depend on which thread runs them. Callers from several threads take
// turns; a call from inside a tile runs in its own thread. Where the call is interrupted (interrupt.hpp), tiles are
// left out.
template <class Tile>
void run_tiles(std::size_t n_tiles, int n_threads, Tile&& tile) {
  detail::run_tiles(n_tiles, n_threads, [](void* context, std::size_t k) { (*static_cast<Tile*>(context))(k); }, &tile);
}

}  // namespace featherweight
