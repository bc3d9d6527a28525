// bindings/step_records.hpp -- what rollouts record, in arrays of Python; contacts and impulses as tables.
#pragma once
#include <nanobind/ndarray.h>

#include <vector>

#include "call.hpp"
#include "forces/forces.hpp"
#include "step/step_records.hpp"

namespace featherweight::bindings {

// Records whose coordinates and figures are arrays of Python, which it keeps.
class RecordedSteps : public StepRecords {
 public:
  using Rows = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;     // (batch, rows, n)
  using Figures = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;  // (batch, rows)
  struct Motion {
    Rows q, v;
    Figures residual, penetration;
  };
  RecordedSteps(const Simulation& simulation, std::size_t batch, int n_steps, int every, Motion motion,
                bool with_contacts);

  // Throws unless steps [first, first + n) of these environments have a place.
  void check(const Environments& environments, int first, int n);
  void check_rows(const Environments& environments, int n_rows);

 private:
  Motion motion_;
};

nb::object doubles(const std::vector<std::size_t>& shape, const std::vector<double>& values);
// start (lists + 1), then per contact: integers (n, 4) shape a, shape b, material, feature; numbers (n, 19) position,
// frame, gap, impulse.
nb::object contact_table(const std::vector<ContactList>& lists);
// Of n steps: of contacts (contacts, 6); along degrees of freedom (n, nv) those of limits, of dry friction and of
// servos; of rows of closures (n, rows).
nb::object impulse_tables(const Scene& scene, const ReadImpulses& read, std::size_t n);

}  // namespace featherweight::bindings
