#include "step_records.hpp"

#include <nanobind/stl/shared_ptr.h>

#include <cstring>
#include <stdexcept>
#include <string>

#include "bindings.hpp"
#include "gil.hpp"
#include "step/strut_lengths.hpp"

namespace featherweight::bindings {

RecordedSteps::RecordedSteps(const Simulation& simulation, std::size_t batch, int n_steps, int every, Motion motion,
                             bool with_contacts)
    : StepRecords(simulation, batch, n_steps, every, with_contacts), motion_(std::move(motion)) {
  const std::size_t n_rows = static_cast<std::size_t>(rows().n_rows);
  const auto check_shape = [&](const char* name, const auto& array, int n) {
    if (array.shape(0) != batch || array.shape(1) != n_rows ||
        (array.ndim() == 3 && array.shape(2) != static_cast<std::size_t>(n)))
      throw std::invalid_argument(std::string(name) + ": expected a row for each of " + std::to_string(n_rows) +
                                  " records of " + std::to_string(batch) + " environments");
  };
  check_shape("q", motion_.q, simulation.model().nq());
  check_shape("v", motion_.v, simulation.model().nv());
  check_shape("residual", motion_.residual, 1);
  check_shape("penetration", motion_.penetration, 1);
  rows().q = motion_.q.data(), rows().v = motion_.v.data();
  rows().residual = motion_.residual.data(), rows().penetration = motion_.penetration.data();
}

void RecordedSteps::check(const Environments& environments, int first, int n) {
  const StepTrace& mine = trace();
  const Simulation& simulation = environments.simulation();
  if (environments.batch() != batch() || mine.nq != simulation.model().nq() || mine.nv != simulation.model().nv() ||
      mine.n_impulses != simulation.n_kept_impulses())
    throw std::invalid_argument("records: made for other environments");
  if (first > rows().n_steps || n > rows().n_steps - first)
    throw std::invalid_argument("records: made for a rollout of " + std::to_string(rows().n_steps) + " steps");
}
void RecordedSteps::check_rows(const Environments& environments, int n_rows) {
  check(environments, 0, 0);
  if (!has_contacts() || n_rows < 0 || n_rows > rows().n_rows)
    throw std::invalid_argument("records: no contacts of so many rows");
}

nb::object doubles(const std::vector<std::size_t>& shape, const std::vector<double>& values) {
  NewArray array(shape, 'd');
  if (!values.empty()) std::memcpy(array.data(), values.data(), values.size() * sizeof(double));
  return array.take();
}

nb::object contact_table(const std::vector<ContactList>& lists) {
  std::vector<double> start{0}, integers, numbers;
  for (const ContactList& list : lists) {
    start.push_back(start.back() + list.count);
    for (int k = 0; k < list.count; ++k) {
      const Contact& c = list.data[k];
      for (double x : {double(c.a), double(c.b), double(c.material), double(c.feature)}) integers.push_back(x);
      numbers.insert(numbers.end(), c.position, c.position + 3);
      numbers.insert(numbers.end(), c.frame, c.frame + 9);
      numbers.push_back(c.gap);
      numbers.insert(numbers.end(), c.impulse, c.impulse + 6);
    }
  }
  const std::size_t n = numbers.size() / 19;
  return nb::make_tuple(doubles({start.size()}, start), doubles({n, 4}, integers), doubles({n, 19}, numbers));
}

nb::object impulse_tables(const Scene& scene, const ReadImpulses& read, std::size_t n) {
  const std::size_t nv = static_cast<std::size_t>(scene.tree.nv);
  const std::size_t n_closure_rows = static_cast<std::size_t>(scene.held.n_rows);
  std::vector<double> limits(n * nv), friction(n * nv), servos(n * nv), closures;
  const double* next = read.joints.data();
  for (std::size_t k = 0; k < n; ++k) {
    for (int r = 0; r < scene.n_joint_rows; ++r) {
      const JointRow& row = scene.joint_rows[r];
      auto& along = row.is_limit() ? limits : row.kind == JointRow::dry_friction ? friction : servos;
      const auto add = [&](int dof, double coefficient) {
        along[k * nv + static_cast<std::size_t>(dof)] += coefficient * *next;
      };
      if (row.strut >= 0) {
        const double* const travels = read.strut_travels.data() + k * static_cast<std::size_t>(scene.n_strut_travels);
        host::for_strut_dofs(scene, scene.struts[row.strut],
                             [&](int dof, int place) { add(dof, row.term.coefficient * travels[place]); });
      } else {
        add(row.term.dof, row.term.coefficient);
        for (int t = row.first_more; t < row.first_more + row.n_more; ++t)
          add(scene.tendon_terms[t].dof, scene.tendon_terms[t].coefficient);
      }
      ++next;
    }
    closures.insert(closures.end(), next, next + n_closure_rows);
    next += n_closure_rows;
  }
  return nb::make_tuple(doubles({read.contacts.size() / 6, 6}, read.contacts), doubles({n, nv}, limits),
                        doubles({n, nv}, friction), doubles({n, nv}, servos), doubles({n, n_closure_rows}, closures));
}

namespace {

std::vector<ContactList> views(const RecordedSteps& records, int n_rows) {
  std::vector<ContactList> lists;
  for (int row = 0; row < n_rows; ++row)
    for (std::size_t k = 0; k < records.batch(); ++k) lists.push_back(records.contacts(k, row));
  return lists;
}

}  // namespace

void bind_step_records(nb::module_& m) {
  using Motion = RecordedSteps::Motion;
  nb::class_<RecordedSteps>(m, "StepRecords", "What a rollout records, while it is computed.")
      .def(
          "__init__",
          [](RecordedSteps* self, const Simulation& simulation, std::size_t batch, int n_steps, int every,
             const RecordedSteps::Rows& q, const RecordedSteps::Rows& v, const RecordedSteps::Figures& residual,
             const RecordedSteps::Figures& penetration, bool contacts) {
            if (n_steps < 0 || every < 1) throw std::invalid_argument("records: expected steps, and every >= 1");
            new (self) RecordedSteps(simulation, batch, n_steps, every, Motion{q, v, residual, penetration}, contacts);
          },
          nb::arg("simulation"), nb::arg("batch"), nb::arg("n_steps"), nb::arg("every"), nb::arg("q").noconvert(),
          nb::arg("v").noconvert(), nb::arg("residual").noconvert(), nb::arg("penetration").noconvert(),
          nb::arg("contacts"),
          "Rows of every `every` steps and of the last: q (batch, rows, nq), v (batch, rows, nv), residual and "
          "penetration (batch, rows) are written to; contacts: what touched as well.")
      .def(
          "contacts",
          [](RecordedSteps& self, Environments& start, int n_rows) {
            self.check_rows(start, n_rows);
            return contact_table(views(self, n_rows));
          },
          nb::arg("start"), nb::arg("n_rows"),
          nb::sig("def contacts(self, start: Environments, n_rows: int) -> tuple[numpy.typing.NDArray[numpy.float64], "
                  "numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]"),
          "Of the first rows, row by row and in each all environments; as Environments.contacts.")
      .def(
          "read_impulses",
          [](RecordedSteps& self, Environments& start, int n_rows, nb::handle num_threads) {
            self.check_rows(start, n_rows);
            const int n_threads = thread_count(num_threads);
            ReadImpulses read;
            without_gil([&] { read = read_impulses(start, self, n_rows, n_threads); });
            return impulse_tables(start.simulation().scene(), read, start.batch() * static_cast<std::size_t>(n_rows));
          },
          nb::arg("start"), nb::arg("n_rows"), nb::arg("num_threads").none(),
          nb::sig("def read_impulses(self, start: Environments, n_rows: int, num_threads: int | None) -> "
                  "tuple[numpy.typing.NDArray[numpy.float64], ...]"),
          "Of the first rows, in the same order; as Environments.read_impulses. start: those that were rolled out.");
}

}  // namespace featherweight::bindings
