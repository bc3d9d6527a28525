#include "forces/forces.hpp"

#include <atomic>
#include <cmath>
#include <new>

#include "forces/carried_rows.hpp"
#include "forces/least_norm.hpp"
#include "rows/closure.hpp"
#include "rows/coupling.hpp"
#include "runtime/denormals.hpp"
#include "runtime/thread_pool.hpp"

namespace featherweight {
namespace {

bool all_finite(const double* x, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k)
    if (!std::isfinite(x[k])) return false;
  return true;
}

void read_environment(const LastStep& step, double* contacts, double* joints, unsigned char* sliding,
                      double* strut_travels) {
  thread_local Load load;
  thread_local LeastNorm least;
  const CarriedRows rows(step, contacts, joints);
  for (int island = 0; island < rows.n_islands(); ++island) {
    rows.gather(island, load);
    if (least.find(load)) rows.take_over(island, load);
  }
  for (std::size_t k = 0; k < rows.sliding().size(); ++k) sliding[k] = rows.sliding()[k];
  for (std::size_t k = 0; k < rows.strut_travels().size(); ++k) strut_travels[k] = rows.strut_travels()[k];
}

const double* grips_of(const Scene& scene, const std::vector<double>& grips, std::size_t environment) {
  return grips.empty() ? nullptr : grips.data() + environment * static_cast<std::size_t>(grip_numbers * scene.n_grips);
}

// What a step left of an environment: the rest is of all its steps.
LastStep last_step(const Environments& environments, const std::vector<double>& grips, std::size_t k) {
  LastStep step{};
  step.scene = &environments.scene(k);
  step.grips = grips_of(*step.scene, grips, k);
  step.dt = environments.simulation().dt();
  step.fall = environments.fall(k);
  step.friction = environments.friction(k);
  step.inertias = environments.inertias(k);
  return step;
}

bool is_finite(const LastStep& step, const double* contacts, const double* joints) {
  const Scene& scene = *step.scene;
  const std::size_t nq = static_cast<std::size_t>(scene.tree.nq), nv = static_cast<std::size_t>(scene.tree.nv);
  return all_finite(step.q, nq) && all_finite(step.v, nv) && all_finite(step.acceleration, nv) &&
         all_finite(contacts, 6 * static_cast<std::size_t>(step.contacts->count)) &&
         all_finite(joints, static_cast<std::size_t>(scene.n_kept)) && std::isfinite(step.residual);
}

// Of all steps: as they are read, or as the solver left them where `step_of` finds that they failed. read.joints has
// those of the solver.
template <class Step>
void read_steps(const Scene& scene, const std::vector<ContactList>& contacts, int n_threads, const Step& step_of,
                ReadImpulses& read) {
  const std::size_t n_kept = static_cast<std::size_t>(scene.n_kept);
  std::vector<std::size_t> first{0};
  for (const ContactList& list : contacts) first.push_back(first.back() + static_cast<std::size_t>(list.count));
  read.contacts.reserve(6 * first.back());
  for (const ContactList& list : contacts)
    for (int k = 0; k < list.count; ++k)
      read.contacts.insert(read.contacts.end(), list.data[k].impulse, list.data[k].impulse + 6);
  read.sliding.assign(first.back(), 0);
  const std::size_t n_travels = static_cast<std::size_t>(scene.n_strut_travels);
  read.strut_travels.assign(contacts.size() * n_travels, 0.0);
  std::atomic<bool> out_of_memory = false;
  run_tiles(contacts.size(), n_threads, [&](std::size_t k) {
    if (contacts[k].count == 0 && n_kept == 0) return;
    const FlushDenormals flush;
    try {
      LastStep step{};
      if (!step_of(k, step)) return;
      step.contacts = &contacts[k];
      double* const of_contacts = read.contacts.data() + 6 * first[k];
      double* const of_joints = read.joints.data() + k * n_kept;
      if (is_finite(step, of_contacts, of_joints))
        read_environment(step, of_contacts, of_joints, read.sliding.data() + first[k],
                         read.strut_travels.data() + k * n_travels);
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  });
  if (out_of_memory) throw std::bad_alloc();
}

}  // namespace

ReadImpulses read_impulses(Environments& environments, int n_threads) {
  const Scene& scene = environments.simulation().scene();
  const std::size_t nq = static_cast<std::size_t>(scene.tree.nq), nv = static_cast<std::size_t>(scene.tree.nv);
  ReadImpulses read;
  read.joints = environments.impulses();
  const std::vector<double> grips = environments.compiled_grips();
  const auto step_of = [&](std::size_t k, LastStep& step) {
    const StepReport& report = environments.reports()[k];
    if (report.failed) return false;
    step = last_step(environments, grips, k);
    step.q = environments.q_start().data() + k * nq, step.v = environments.v_start().data() + k * nv;
    step.acceleration = environments.acceleration().data() + k * nv;
    step.residual = report.last.residual;
    return true;
  };
  read_steps(scene, environments.contacts(), n_threads, step_of, read);
  return read;
}

ReadImpulses read_impulses(Environments& start, const StepRecords& records, int n_rows, int n_threads) {
  const std::size_t batch = start.batch();
  const StepTrace& trace = records.trace();
  const auto trace_at = [&](std::size_t k) { return records.trace_of(k % batch, static_cast<int>(k / batch)); };
  ReadImpulses read;
  const std::vector<double> grips = start.compiled_grips();
  std::vector<ContactList> contacts;  // views
  for (std::size_t k = 0; k < batch * static_cast<std::size_t>(n_rows); ++k) {
    contacts.push_back(records.contacts(k % batch, static_cast<int>(k / batch)));
    const double* const impulses = trace_at(k) + trace.impulses();
    read.joints.insert(read.joints.end(), impulses, impulses + trace.n_impulses);
  }
  const auto step_of = [&](std::size_t k, LastStep& step) {
    const double* const of = trace_at(k);
    if (of[trace.failed()] != 0) return false;
    step = last_step(start, grips, k % batch);
    step.q = of + trace.q_start(), step.v = of + trace.v_start();
    step.acceleration = of + trace.acceleration();
    step.residual = of[trace.residual()];
    return true;
  };
  read_steps(start.simulation().scene(), contacts, n_threads, step_of, read);
  return read;
}

namespace {

Mode mode_of(const SolvedRow& row, const double* contact, unsigned char sliding) {
  if (!(contact[2] > 0.0)) return Mode::open;
  const int bit = row.law == Law::disc ? (row.component == 5 ? 2 : 4) : 1;
  return row.law != Law::unilateral && (sliding & bit) ? Mode::sliding : Mode::sticking;
}

}  // namespace

void replace_impulses(const ReadImpulses& read, Environments& environments, KeptSolutions& kept) {
  const std::size_t n_kept = static_cast<std::size_t>(environments.simulation().n_kept_impulses());
  std::size_t first = 0;
  for (std::size_t k = 0; k < kept.of.size(); ++k) {
    const Scene& scene = environments.scene(k);
    const double* const joints = read.joints.data() + k * n_kept;
    for (int r = 0; r < kept.of[k].n_rows; ++r) {
      SolvedRow& row = kept.of[k].rows[r];
      if (row.source == RowSource::contact) {
        const std::size_t contact = first + static_cast<std::size_t>(row.index);
        row.impulse = read.contacts[6 * contact + static_cast<std::size_t>(row.component)];
        row.mode = mode_of(row, read.contacts.data() + 6 * contact, read.sliding[contact]);
      } else if (row.source == RowSource::joint) {
        row.impulse = joints[row.index];
        if (scene.joint_rows[row.index].is_limit()) row.mode = row.impulse > 0.0 ? Mode::sticking : Mode::open;
      } else {
        row.impulse = joints[scene.n_joint_rows + scene.first_kept(row.index) + row.component];
      }
    }
    first += static_cast<std::size_t>(environments.contacts()[k].count);
  }
}

std::vector<double> closure_errors(Environments& environments) {
  using namespace host;
  const Scene& scene = environments.simulation().scene();
  const Tree<double>& tree = scene.tree;
  const Pose<double> world = identity_pose<double>();
  std::vector<double> errors(environments.batch() * static_cast<std::size_t>(scene.held.n_rows));
  std::vector<double> state(static_cast<std::size_t>(tree.n_states));
  std::vector<Pose<double>> poses(static_cast<std::size_t>(tree.n_links));
  const std::vector<double> grips = environments.compiled_grips();
  const std::vector<double>& switches = environments.switches();
  double* next = errors.data();
  for (std::size_t k = 0; scene.held.n_rows && k < environments.batch(); ++k) {
    const double* const q = environments.q().data() + k * static_cast<std::size_t>(tree.nq);
    for (int i = 0; i < tree.n_links; ++i) {
      const Link<double>& l = tree.links[i];
      const Pose<double>& parent = l.parent < 0 ? world : poses[static_cast<std::size_t>(l.parent)];
      visit(l.kind, [&](auto joint) {
        place(joint, l, q + l.q, state.data() + l.state, parent, poses[static_cast<std::size_t>(i)]);
      });
    }
    for (int c = 0; c < scene.n_closures; ++c) {
      const Closure<double>& closure = scene.closures[c];
      const int grip = scene.grips ? scene.grips[c] : -1;
      const bool is_off = grip >= 0 && switches[k * static_cast<std::size_t>(scene.n_grips) + grip] == 0;
      if (!is_off)
        position_errors(closure, frame_in_world(closure.a, poses.data()),
                        second_frame_in_world(closure, grip_of(scene, c, grips_of(scene, grips, k)), poses.data()),
                        next);
      next += closure.n_rows;
    }
    for (int c = 0; c < scene.n_couplings; ++c) *next++ = coupling_error(scene.couplings[c], scene.coupling_terms, q);
  }
  return errors;
}

}  // namespace featherweight
