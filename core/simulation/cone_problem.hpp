// simulation/cone_problem.hpp -- the cone problem of one environment: rows from its contacts, joints and held frames,
// solved, and the impulses handed back to the lanes.
//
// Velocities are those at the end of the step. A row n with gap d obeys
//   apart, d > 0      0 <= lambda  _|_  sigma + d / dt >= 0        so it touches at the end of the step at the earliest
//   touching, d <= 0  0 <= lambda  _|_  sigma >= 0                 and the overlap is left to `separate`
//   impact with e     0 <= lambda  _|_  sigma + e sigma_before >= 0
//   compliant         0 <= lambda  _|_  sigma + k d / (k dt + c) + lambda / (dt (k dt + c)) >= 0     (implicit spring)
#pragma once
#include "contact/kernels.hpp"
#include "simulation/job.hpp"
#include "simulation/rows.hpp"

namespace featherweight::FW_ISA {

extern const ContactKernels contact_kernels;

// What the sweeps on lanes know of the environments.
template <class S>
struct FreeMotion {
  S *q, *v_free;
  Pose<S>* pose;          // of links
  Freedom<S>* freedom;    // of freedoms
  Motion<S>* velocity;    // of links without impulses, about the roots of their trees
  Motion<S>* before;      // the same at the start of the step, where a scene has restitution
  S *response, *correct;  // of freedoms: Y^T lambda, and that of the separating impulses
};

// Carves arrays out of memory that is large enough, or only adds up how large that is.
class Carver {
 public:
  explicit Carver(void* memory) : next_(static_cast<char*>(memory)) {}
  template <class T>
  FW_INLINE T* take(std::size_t count) {
    char* const piece = next_;
    next_ += (count * sizeof(T) + 63) / 64 * 64;
    return reinterpret_cast<T*>(piece);
  }
  std::size_t used(const void* memory) const { return static_cast<std::size_t>(next_ - static_cast<const char*>(memory)); }

 private:
  char* next_;
};

template <class S>
class EnvironmentProblem {
 public:
  EnvironmentProblem(const RolloutJob& job, const FreeMotion<S>& free, int lane, Buffer& memory)
      : job_(job), scene_(*job.scene), free_(free), lane_{lane}, memory_(memory) {}

  // Everything that may act in this step. False if nothing does.
  bool build(ContactList& contacts, double* joint_impulses) {
    contacts_ = &contacts;
    joint_impulses_ = joint_impulses;
    make_room(contacts.count);
    for (int k = 0; k < scene_.n_held; ++k) add_held(scene_.held[k]);
    for (int k = 0; k < scene_.n_joint_rows; ++k) add_joint_row(scene_.joint_rows[k], joint_impulses[k], k);
    for (int k = 0; k < contacts.count; ++k) add_contact(contacts.data[k], k);
    return n_groups_ > 0;
  }

  void solve(StepReport& report) {
    couple_all();
    problem_ = {m_, n_blocks_, blocks_, {G_, stride_}, g_, scale_};
    reserve_scratch();
    const SolverReport r = contact_kernels.solve(problem_, job_.options, lambda_, scratch_);
    const auto raise = [](double& worst, double x) { worst = x > worst ? x : worst; };
    raise(report.residual, r.residual);
    raise(report.primal, r.primal);
    raise(report.dual, r.dual);
    raise(report.complementarity, r.complementarity);
    report.scale = scale_;
    report.sweeps += r.sweeps, report.newton += r.newton, report.admm += r.admm;
    report.unconverged += r.converged ? 0 : 1;
  }

  // Impulses to the freedoms, and to what is kept for the next step.
  void apply() {
    for (int i = 0; i < n_groups_; ++i) add_response(groups_[i], lambda_ + groups_[i].first, free_.response);
    for (int k = 0; k < scene_.n_joint_rows + scene_.n_held_rows; ++k) joint_impulses_[k] = 0;
    for (int k = 0; k < n_sources_; ++k) {
      const Source& s = sources_[k];
      for (int r = 0; r < s.rows; ++r) s.impulse[s.place[r]] = lambda_[s.first + r];
    }
  }

  // Overlaps and drift are taken out by velocities that move the environment once and are then forgotten, so that
  // they bring no energy.  0 <= mu_n _|_ sigma + G mu + d / (2 dt) >= 0, by a few sweeps: what is left comes next time.
  void separate() {
    if (!(deepest_ > 1e-10 || drift_ > 0)) return;
    ...
  }
