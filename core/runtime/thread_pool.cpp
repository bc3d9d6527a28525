#include "runtime/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "memory/platform.hpp"
#include "runtime/cores.hpp"
#include "runtime/interrupt.hpp"

namespace featherweight {
namespace {

constexpr std::chrono::milliseconds between_questions(20);

// Whether this thread is inside a call of the pool. A signal handler may make another call from there.
thread_local bool is_busy = false;

class ThreadPool {
 public:
  void run(std::size_t n_tiles, int n_helpers, void (*tile)(void*, std::size_t), void* context) {
    std::lock_guard turn(turn_);
    is_busy = true;
    {
      std::lock_guard lock(mutex_);
      n_helpers = hire(n_helpers);
      tile_ = tile;
      context_ = context;
      call_ = current_call();
      n_tiles_ = n_tiles;
      next_ = 0;
      n_helpers_ = working_ = n_helpers;
      ++round_;
    }
    wake_.notify_all();
    take_tiles();
    wait_for_helpers();
    is_busy = false;
  }

 private:
  // Starts helpers up to the number wanted; where the system refuses more, fewer must do.
  int hire(int wanted) {
    try {
      for (; hired_ < wanted; ++hired_) std::thread([this, id = hired_] { serve(id); }).detach();
    } catch (const std::system_error&) {
    }
    return std::min(wanted, hired_);
  }
  void take_tiles() {
    for (std::size_t k = next_++; k < n_tiles_ && !interrupted(0); k = next_++) tile_(context_, k);
  }
  // The caller goes on asking whether to stop.
  void wait_for_helpers() {
    std::unique_lock lock(mutex_);
    while (!done_.wait_for(lock, between_questions, [this] { return working_ == 0; })) {
      lock.unlock();
      if (call_) call_->look();
      lock.lock();
    }
  }
  void serve(int id) {
    long served = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return round_ != served && id < n_helpers_; });
      served = round_;
      lock.unlock();
      {
        const SharedCall shared(call_);
        take_tiles();
      }
      lock.lock();
      if (--working_ == 0) done_.notify_one();
    }
  }

  std::mutex turn_, mutex_;
  std::condition_variable wake_, done_;
  void (*tile_)(void*, std::size_t) = nullptr;
  void* context_ = nullptr;
  InterruptibleCall* call_ = nullptr;
  std::size_t n_tiles_ = 0;
  int hired_ = 0, n_helpers_ = 0, working_ = 0;
  long round_ = 0;
  alignas(64) std::atomic<std::size_t> next_ = 0;  // on a cache line of its own: all threads write it
};

// Never destroyed: helpers may still wait when the process exits. A forked child has no helpers and gets a new pool.
ThreadPool& pool() {
  static std::mutex mutex;
  static ThreadPool* instance = nullptr;
  static long owner = 0;
  std::lock_guard lock(mutex);
  if (!instance || owner != platform::process_number()) {
    instance = new ThreadPool;
    owner = platform::process_number();
  }
  return *instance;
}

}  // namespace

void detail::run_tiles(std::size_t n_tiles, int n_threads, void (*tile)(void*, std::size_t), void* context) {
  const int most = is_busy ? 1 : std::min(n_threads, available_cores());
  const int n_useful = static_cast<int>(std::min<std::size_t>(n_tiles, static_cast<std::size_t>(most)));
  if (n_useful > 1) return pool().run(n_tiles, n_useful - 1, tile, context);
  for (std::size_t k = 0; k < n_tiles && !interrupted(0); ++k) tile(context, k);
}

}  // namespace featherweight
