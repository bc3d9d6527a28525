#include "batch/dispatch.hpp"

#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include "batch/counts.hpp"

namespace featherweight {

#define FW_DECLARE_ISA(name) \
  namespace name {           \
  extern const Isa isa;      \
  }
FW_DECLARE_ISA(scalar)
FW_DECLARE_ISA(counting)
FW_DECLARE_ISA(baseline)
#ifdef __x86_64__
FW_DECLARE_ISA(v3)
FW_DECLARE_ISA(v4)
#endif

#ifdef __x86_64__
namespace {

// Feature by feature: not every compiler we support knows the names of the levels.
bool has_v3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2");
}
bool has_v4() {
  return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

}  // namespace
#endif

std::vector<const Isa*> available_isas() {
  std::vector<const Isa*> isas;
#ifdef __x86_64__
  if (has_v4()) isas.push_back(&v4::isa);
  if (has_v3()) isas.push_back(&v3::isa);
#endif
  isas.push_back(&baseline::isa);
#ifdef __x86_64__
  if (has_v3())  // built for the same level, with fused multiply-adds
#endif
    isas.push_back(&scalar::isa);
  isas.push_back(&counting::isa);
  return isas;
}

const Isa& find_isa(const std::string& name) {
  std::string names;
  for (const Isa* isa : available_isas()) {
    if (isa->name == name) return *isa;
    names += (names.empty() ? "" : ", ") + std::string(isa->name);
  }
  throw std::invalid_argument("instruction set '" + name + "' is not available; this CPU runs " + names);
}

namespace {

const Isa* initial_isa() {
  const char* wanted = std::getenv("FEATHERWEIGHT_ISA");
  try {
    return wanted && *wanted ? &find_isa(wanted) : available_isas().front();
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(std::string("environment variable FEATHERWEIGHT_ISA: ") + error.what());
  }
}
std::atomic<const Isa*>& active() {
  static std::atomic<const Isa*> isa = initial_isa();
  return isa;
}

}  // namespace

const Isa& active_isa() { return *active().load(std::memory_order_acquire); }
void use_isa(const std::string& name) { active().store(&find_isa(name), std::memory_order_release); }

OperationCounts operation_counts() { return counting::operation_counts(); }
void reset_operation_counts() { counting::reset_operation_counts(); }

}  // namespace featherweight
