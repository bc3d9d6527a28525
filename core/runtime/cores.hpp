// runtime/cores.hpp -- how many threads are worth starting.
#pragma once
#include <string>

namespace featherweight {

// Cores that this process may use, at least one: those it may run on, now, and no more than the share of their time
// that its control groups grant, as containers do.
int available_cores();

// Threads for a call that does not say how many: as FEATHERWEIGHT_THREADS says, or without limit, since there are never
// more than cores. Throws std::invalid_argument if the variable is not a positive number.
int default_threads();

// What the control groups of this process grant it, in cores, or infinity. From /proc and /sys/fs/cgroup, which tests
// put elsewhere.
double granted_cores(const std::string& proc, const std::string& groups);

}  // namespace featherweight
