// The instruction sets that this CPU runs, best first, as a CMake list.
#include <cstdio>

#include "runtime/cpu.hpp"

int main() {
#ifdef __x86_64__
  if (featherweight::cpu_has_v4()) std::printf("x86-64-v4;");
  if (featherweight::cpu_has_v3()) std::printf("x86-64-v3;");
#endif
  std::printf("baseline");
}
