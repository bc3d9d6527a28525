// runtime/denormals.hpp -- flushes denormal numbers to zero while in scope: decaying motions cost up to 2x otherwise.
// Or does not, while code of the user runs.
#pragma once
#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace featherweight {

class FlushDenormals {
 public:
  explicit FlushDenormals(bool on = true) : saved_(read()), wanted_(on ? saved_ | flush : saved_ & ~flush) {
    if (wanted_ != saved_) write(wanted_);  // writing costs more than asking
  }
  ~FlushDenormals() {
    if (wanted_ != saved_) write(saved_);
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr std::uint64_t flush = 0x8040;  // FTZ and DAZ
  static std::uint64_t read() { return _mm_getcsr(); }
  static void write(std::uint64_t value) { _mm_setcsr(static_cast<unsigned>(value)); }
#elif defined(__aarch64__)
  static constexpr std::uint64_t flush = 1u << 24;  // FZ
  static std::uint64_t read() {
    std::uint64_t value;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void write(std::uint64_t value) { asm volatile("msr fpcr, %0" ::"r"(value)); }
#else
  static constexpr std::uint64_t flush = 0;
  static std::uint64_t read() { return 0; }
  static void write(std::uint64_t) {}
#endif
  std::uint64_t saved_, wanted_;
};

}  // namespace featherweight
