// Compiled once, with the counting build.
#include "runtime/counts.hpp"

#include "lanes/counted.hpp"

namespace featherweight::counting {

OperationCounts operation_counts() {
  return {Counted::additions, Counted::multiplications, Counted::divisions, Counted::sincos_calls};
}
void reset_operation_counts() {
  Counted::additions = Counted::multiplications = Counted::divisions = Counted::sincos_calls = 0;
}

}  // namespace featherweight::counting
