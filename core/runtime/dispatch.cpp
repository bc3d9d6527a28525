#include "runtime/dispatch.hpp"

#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include "runtime/counts.hpp"
#include "runtime/cpu.hpp"

namespace featherweight {

// FW_HAS_x: namespace x is part of this library.
#define FW_DECLARE_ISA(name) \
  namespace name {           \
  extern const Isa isa;      \
  }
FW_DECLARE_ISA(scalar)
FW_DECLARE_ISA(counting)
FW_DECLARE_ISA(baseline)
FW_DECLARE_ISA(v3)
FW_DECLARE_ISA(v4)

std::vector<const Isa*> available_isas() {
  std::vector<const Isa*> isas;
#ifdef FW_HAS_v4
  if (cpu_has_v4()) isas.push_back(&v4::isa);
#endif
#ifdef FW_HAS_v3
  if (cpu_has_v3()) isas.push_back(&v3::isa);
#endif
#ifdef FW_HAS_baseline
  isas.push_back(&baseline::isa);
#endif
#ifdef FW_HAS_scalar
#ifdef __x86_64__
  if (cpu_has_v3())  // built for the same level, with fused multiply-adds
#endif
    isas.push_back(&scalar::isa);
#endif
#ifdef FW_HAS_counting
  isas.push_back(&counting::isa);
#endif
  return isas;
}

const Isa& find_isa(const std::string& name) {
  std::string names;
  for (const Isa* isa : available_isas()) {
    if (isa->name == name) return *isa;
    names += (names.empty() ? "" : ", ") + std::string(isa->name);
  }
  throw std::invalid_argument("instruction set '" + name +
                              "' is not available; this build has, of those the CPU runs, " + names);
}

namespace {

const Isa* initial_isa() {
  const char* wanted = std::getenv("FEATHERWEIGHT_ISA");
  try {
    if (wanted && *wanted) return &find_isa(wanted);
    const std::vector<const Isa*> isas = available_isas();
    if (isas.empty()) throw std::runtime_error("featherweight was built for another CPU; build it again on this one");
    return isas.front();
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

#ifdef FW_HAS_counting
OperationCounts operation_counts() { return counting::operation_counts(); }
void reset_operation_counts() { counting::reset_operation_counts(); }
#else
OperationCounts operation_counts() { return {}; }
void reset_operation_counts() { find_isa("counting"); }
#endif

}  // namespace featherweight
