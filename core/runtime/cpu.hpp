// runtime/cpu.hpp -- what this CPU runs.
#pragma once

namespace featherweight {

#ifdef __x86_64__
// Feature by feature: not every compiler we support knows the names of the levels.
inline bool cpu_has_v3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2");
}
inline bool cpu_has_v4() {
  return cpu_has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

}  // namespace featherweight
