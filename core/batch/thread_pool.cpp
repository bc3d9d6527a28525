#include "batch/thread_pool.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace featherweight {
namespace {

class ThreadPool {
 public:
  void run(std::size_t n_tiles, int n_helpers, const std::function<void(std::size_t)>& tile) {
    std::lock_guard turn(turn_);
    {
      std::lock_guard lock(mutex_);
      while (static_cast<int>(threads_.size()) < n_helpers)
        threads_.emplace_back([this, id = static_cast<int>(threads_.size())] { serve(id); }).detach();
      tile_ = &tile;
      n_tiles_ = n_tiles;
      next_ = 0;
      n_helpers_ = working_ = n_helpers;
      ++round_;
    }
    wake_.notify_all();
    take_tiles();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return working_ == 0; });
  }

 private:
  void take_tiles() {
    for (std::size_t k = next_++; k < n_tiles_; k = next_++) (*tile_)(k);
  }
  void serve(int id) {
    long served = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return round_ != served && id < n_helpers_; });
      served = round_;
      lock.unlock();
      take_tiles();
      lock.lock();
      if (--working_ == 0) done_.notify_one();
    }
  }

  std::mutex turn_, mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> threads_;
  const std::function<void(std::size_t)>* tile_ = nullptr;
  std::size_t n_tiles_ = 0;
  std::atomic<std::size_t> next_ = 0;
  int n_helpers_ = 0, working_ = 0;
  long round_ = 0;
};

// Never destroyed: helpers may still wait when the process exits. A forked child has no helpers and gets a new pool.
ThreadPool& pool() {
  static std::mutex mutex;
  static ThreadPool* instance = nullptr;
  static pid_t owner = 0;
  std::lock_guard lock(mutex);
  if (!instance || owner != getpid()) {
    instance = new ThreadPool;
    owner = getpid();
  }
  return *instance;
}

}  // namespace

int available_threads() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void run_tiles(std::size_t n_tiles, int n_threads, const std::function<void(std::size_t)>& tile) {
  const int n_helpers = static_cast<int>(std::min<std::size_t>(n_tiles, static_cast<std::size_t>(n_threads))) - 1;
  if (n_helpers > 0) return pool().run(n_tiles, n_helpers, tile);
  for (std::size_t k = 0; k < n_tiles; ++k) tile(k);
}

}  // namespace featherweight
