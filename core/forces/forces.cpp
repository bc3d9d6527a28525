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

void read_environment(const LastStep& step, double* contacts, double* joints, unsigned char* sliding) {
  thread_local Load load;
  thread_local LeastNorm least;
  const CarriedRows rows(step, contacts, joints);
  for (int island = 0; island < rows.n_islands(); ++island) {
    rows.gather(island, load);
    if (least.find(load)) rows.take_over(island, load);
  }
  for (std::size_t k = 0; k < rows.sliding().size(); ++k) sliding[k] = rows.sliding()[k];
}

}  // namespace

ReadImpulses read_impulses(Environments& environments, int n_threads) {
  const std::size_t batch = environments.batch();
  const Scene& scene = environments.simulation().scene();
  const std::size_t nq = static_cast<std::size_t>(scene.tree.nq), nv = static_cast<std::size_t>(scene.tree.nv);
  const std::size_t n_kept = static_cast<std::size_t>(scene.n_joint_rows + scene.held.n_rows);
  ReadImpulses read;
  read.joints = environments.impulses();
  std::vector<std::size_t> first{0};
  for (const ContactList& list : environments.contacts()) {
    for (int k = 0; k < list.count; ++k)
      read.contacts.insert(read.contacts.end(), list.data[k].impulse, list.data[k].impulse + 6);
    first.push_back(first.back() + static_cast<std::size_t>(list.count));
  }
  read.sliding.assign(first.back(), 0);
  const auto one = [&](std::size_t k) {
    const StepReport& report = environments.reports()[k];
    const ContactList& contacts = environments.contacts()[k];
    if (report.failed || (contacts.count == 0 && n_kept == 0)) return;
    const LastStep step{&scene,
                        environments.simulation().dt(),
                        environments.q_start().data() + k * nq,
                        environments.v_start().data() + k * nv,
                        environments.acceleration().data() + k * nv,
                        environments.fall(k),
                        environments.friction(k),
                        report.last.residual,
                        environments.inertias(k),
                        &contacts};
    double* const of_contacts = read.contacts.data() + 6 * first[k];
    double* const of_joints = read.joints.data() + k * n_kept;
    const bool finite = all_finite(step.q, nq) && all_finite(step.v, nv) && all_finite(step.acceleration, nv) &&
                        all_finite(of_contacts, 6 * static_cast<std::size_t>(contacts.count)) &&
                        all_finite(of_joints, n_kept) && std::isfinite(step.residual);
    if (finite) read_environment(step, of_contacts, of_joints, read.sliding.data() + first[k]);
  };
  std::atomic<bool> out_of_memory = false;
  const auto run = [&](std::size_t k) {
    const FlushDenormals flush;
    try {
      one(k);
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  };
  run_tiles(batch, n_threads, [&](std::size_t k) { run(k); });
  if (out_of_memory) throw std::bad_alloc();
  return read;
}

namespace {

Mode mode_of(const SolvedRow& row, const double* contact, unsigned char sliding) {
  if (!(contact[2] > 0.0)) return Mode::open;
  const int bit = row.law == Law::disc ? (row.component == 5 ? 2 : 4) : 1;
  return row.law != Law::unilateral && (sliding & bit) ? Mode::sliding : Mode::sticking;
}

}  // namespace

void replace_impulses(const Scene& scene, const ReadImpulses& read, Environments& environments, KeptSolutions& kept) {
  const std::size_t n_kept = static_cast<std::size_t>(scene.n_joint_rows + scene.held.n_rows);
  std::size_t first = 0;
  for (std::size_t k = 0; k < kept.of.size(); ++k) {
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
        int place = scene.n_joint_rows + row.component;
        place += scene.held.parts[row.index].first;
        row.impulse = joints[place];
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
      position_errors(closure, frame_in_world(closure.a, poses.data()), frame_in_world(closure.b, poses.data()), next);
      next += closure.n_rows;
    }
    for (int c = 0; c < scene.n_couplings; ++c) *next++ = coupling_error(scene.couplings[c], scene.coupling_terms, q);
  }
  return errors;
}

}  // namespace featherweight
