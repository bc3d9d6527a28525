// runtime/counts.hpp -- reading the counters of the counting build.
#pragma once
#include "runtime/dispatch.hpp"

namespace featherweight::counting {

OperationCounts operation_counts();
void reset_operation_counts();

}  // namespace featherweight::counting
