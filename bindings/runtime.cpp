// bindings/runtime.cpp -- how this build runs.
#include <nanobind/stl/string.h>

#include <algorithm>

#include "bindings.hpp"
#include "runtime/cores.hpp"
#include "runtime/dispatch.hpp"
#include "runtime/run.hpp"

namespace featherweight::bindings {
namespace {

nb::dict build_info() {
  nb::dict info;
  const Isa& active = active_isa();
  info["version"] = FW_VERSION;
  info["isa"] = active.name;
  nb::list names;
  for (const Isa* isa : available_isas()) names.append(isa->name);
  info["available_isas"] = names;
  info["lanes_float64"] = active.f64.lanes;
  info["lanes_float32"] = active.f32.lanes;
  info["threads"] = std::min(default_threads(), available_cores());
#if defined(__clang__)
  info["compiler"] = "clang " __clang_version__;
#else
  info["compiler"] = "gcc " __VERSION__;
#endif
  info["sanitizers"] = FW_SANITIZERS;
  return info;
}

}  // namespace

void bind_runtime(nb::module_& m, nb::module_& testing) {
  m.def("build_info", &build_info, nb::sig("def build_info() -> dict[str, typing.Any]"),
        "How this build runs: version, instruction set in use and available, lanes, threads, compiler."
        "\n"
        "\n"
        ">>> sorted(fw.build_info())[:3]\n"
        "['available_isas', 'compiler', 'isa']");
  testing.def("use_isa", &use_isa, nb::arg("name"),
              "Switches all kernels to another instruction set of build_info()['available_isas'].");
  testing.def("granted_cores", &granted_cores, nb::arg("proc"), nb::arg("groups"),
              "Cores that control groups grant, as folders like /proc and /sys/fs/cgroup say; infinity: all.");
  testing.def("allocation_count", &memory_growths,
              "How often a workspace had to grow since the process started: constant over warm calls.");
}

}  // namespace featherweight::bindings
