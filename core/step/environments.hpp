// step/environments.hpp -- the states of a batch of environments, and what each has of its own.
#pragma once
#include <memory>
#include <vector>

#include "collision/height_field.hpp"
#include "scene/simulation.hpp"
#include "step/job.hpp"

namespace featherweight {

// Height fields of each environment in place of the scene's.
class OwnGround {
 public:
  struct Field {
    int shape;
    std::vector<HeightFieldStorage> storage;  // one per environment
    std::vector<Shape> shapes;                // which view them
  };
  OwnGround(const Scene& scene, std::vector<std::shared_ptr<const Field>> fields);
  OwnGround(const OwnGround&) = delete;
  OwnGround& operator=(const OwnGround&) = delete;

  const Scene& scene() const { return scene_; }
  const std::vector<std::shared_ptr<const Field>>& fields() const { return fields_; }

 private:
  std::vector<std::shared_ptr<const Field>> fields_;
  std::vector<PlacedShape> placed_;  // with bounds around the fields of all environments
  std::vector<ScenePair> pairs_;
  std::vector<const Shape*> own_;
  Scene scene_;
};

// What environments have of their own instead of the scene's. Empty: nothing.
struct Parameters {
  std::vector<double> friction;    // one factor per environment, on all coefficients of friction
  std::vector<double> gain_scale;  // one factor per law of actuators, on gains
  std::vector<double> gravity;     // three numbers [m/s^2]
  std::vector<double> masses;      // one factor on mass and inertia of each of the user's links
  std::vector<double> inertias;    // what masses and gains come to: see RolloutJob
  std::shared_ptr<const OwnGround> ground;
};

// Environments in a row that have one scene: the same closures are switched on in them.
struct SceneRun {
  std::size_t begin, end;
  const Scene* scene;
};
// Into what a thread takes at a time.
void cut_into_tiles(std::vector<SceneRun>& runs);

// The solutions of the last step of a batch.
class KeptSolutions {
 public:
  // with_motion: with what rows are made from.
  KeptSolutions(std::size_t batch, int nv, bool with_motion)
      : of(batch), v_free(with_motion ? batch * nv : 0), dofs(with_motion ? batch * nv * dof_numbers : 0) {}
  KeptSolutions(const KeptSolutions&) = delete;
  KeptSolutions& operator=(const KeptSolutions&) = delete;
  ~KeptSolutions() {
    for (StepSolution& each : of) release(each.memory);
  }

  std::vector<StepSolution> of;  // each environment
  std::vector<SceneRun> scenes;  // whose closures and couplings its rows name
  std::vector<double> v_free;    // velocities without impulses, nv per environment, or nothing
  std::vector<double> dofs;      // of the eliminated tree, nv * dof_numbers per environment, likewise
};

// Of the pose of a second frame on the user's link, or in the world: position [m], and quaternion x, y, z, w.
inline constexpr int grip_pose_numbers = 7;

// The states of a batch of environments.
class Environments {
 public:
  Environments(std::shared_ptr<const Simulation> simulation, std::size_t batch);
  Environments(const Environments& other);
  Environments& operator=(const Environments&) = delete;
  ~Environments();

  std::size_t batch() const { return batch_; }
  const Simulation& simulation() const { return *simulation_; }
  std::vector<double>& q() { return q_; }
  std::vector<double>& v() { return v_; }
  std::vector<double>& activation() { return activation_; }
  std::vector<double>& impulses() { return impulses_; }
  std::vector<double>& switches() { return switches_; }  // of switched closures, per environment: 1 on, 0 off
  std::vector<double>& grips() { return grips_; }        // where they took hold: see grip_pose_numbers
  std::vector<double>& q_start() { return q_start_; }    // of the last step
  std::vector<double>& v_start() { return v_start_; }
  std::vector<double>& acceleration() { return acceleration_; }  // mean over the last step, nv per environment
  std::vector<double>& applied() { return applied_; }            // joint forces of the last step, nv per environment
  std::vector<ContactList>& contacts() { return contacts_; }
  std::vector<StepReport>& reports() { return reports_; }
  // With the closures that are switched on; shapes are the scene's, not the environment's own.
  const Scene& scene(std::size_t environment) const;
  // Of all environments, as RolloutJob has them; empty if nothing is switched on.
  std::vector<double> compiled_grips() const;
  // All environments, and the scenes they are stepped in; grounds: owns some of those.
  void list_runs(std::vector<SceneRun>& runs, std::vector<std::unique_ptr<const OwnGround>>& grounds) const;
  double fall(std::size_t environment) const;             // what gravity adds to velocities in a step [m/s]
  double friction(std::size_t environment) const;         // factor on all coefficients of friction
  const double* inertias(std::size_t environment) const;  // of its links (RolloutJob), or null: the scene's
  const Parameters& parameters() const { return *parameters_; }

  // Parameters of the environments, one row each; copies share them until one is changed.
  void set_friction(const double* factors);  // (batch)
  void set_gains(const double* factors);     // (batch, laws of actuators)
  void set_gravity(const double* gravity);   // (batch, 3)
  void set_masses(const double* factors);    // (batch, links)
  // Of a shape that is a height field, on a grid like its own; heights: (batch, rows, columns), bases: (batch).
  void set_heights(int shape, const double* heights, const double* bases);

  // Inputs, records and options of the job are used, the rest is filled in.
  void rollout(RolloutJob job, int n_threads, KeptSolutions* keep = nullptr);

 private:
  template <class Change>
  void change_parameters(const Change& change);
  std::vector<double> rows(const double* values, int n) const;
  void forget_reports();

  std::shared_ptr<const Simulation> simulation_;
  std::size_t batch_;
  bool has_switched_on() const;
  std::vector<bool> flags(std::size_t environment) const;

  std::vector<double> q_, v_, activation_, impulses_, switches_, grips_, q_start_, v_start_, acceleration_, applied_;
  std::shared_ptr<const Parameters> parameters_ = std::make_shared<Parameters>();
  std::vector<ContactList> contacts_;
  std::vector<StepReport> reports_;
  std::vector<int> failed_;  // before a rollout
  std::vector<SceneRun> tiles_;
};

}  // namespace featherweight
