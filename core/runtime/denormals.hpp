// runtime/denormals.hpp -- flushes denormal numbers to zero while in scope: decaying motions cost up to 2x otherwise.
#pragma once
#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace featherweight {

class FlushDenormals {
 public:
  FlushDenormals() : saved_(read()) {
    if (changes()) write(saved_ | flush);
  }
  ~FlushDenormals() {
    if (changes()) write(saved_);
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  bool changes() const { return (saved_ & flush) != flush; }  // writing costs more than asking
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
  std::uint64_t saved_;
};

}  // namespace featherweight
