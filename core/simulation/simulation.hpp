// simulation/simulation.hpp -- a scene compiled for a step of given length, and environments that live in it.
#pragma once
#include <memory>
#include <vector>

#include "collision/height_field.hpp"
#include "model/model.hpp"
#include "simulation/job.hpp"
#include "simulation/pair_rules.hpp"

namespace featherweight {

// What is added to a model to make it a scene. Links and frames are the user's; -1 is the world.
struct ShapeSpec {
  Shape shape;
  int link;
  PoseArray placement;  // on the link
};
struct JointRowSpec {
  JointRow::Kind kind;
  int freedom;
  double bound;
};
struct HeldSpec {
  int link_a, link_b;
  PoseArray placement_a, placement_b;  // of the frame on either link
  std::vector<int> rows;               // see HeldFrame
};
struct SceneSpec {
  std::vector<ShapeSpec> shapes;
  std::vector<ScenePair> pairs;
  std::unique_ptr<PairRules> rules;  // instead of pairs, where there are too many
  std::vector<PairMaterial> materials;
  std::vector<JointRowSpec> joint_rows;
  std::vector<HeldSpec> held;
  std::vector<Spring> springs;      // q is filled in
  std::vector<Actuator> actuators;  // q and is_row are filled in
  std::vector<double> damping;      // one a freedom
};

// Immutable; shareable between threads.
class Simulation {
 public:
  // The model must outlive it. Throws std::invalid_argument naming the culprit.
  Simulation(const Model& model, SceneSpec spec, double dt, Integrator integrator);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  const Model& model() const { return model_; }
  const Scene& scene() const { return scene_; }
  double dt() const { return dt_; }
  int n_kept_impulses() const { return scene_.n_joint_rows + scene_.n_held_rows; }
  // Whether the gains of actuators are part of the inertia.
  bool has_servo_inertia() const { return !servo_inertias_.empty(); }
  // Inertias of all compiled links (see RolloutJob) with factors on those of the user's links and on the gains of
  // actuators; null: one.
  void scale_inertias(const double* masses, const double* gains, double* inertias) const;

 private:
  int link_of_freedom(int freedom) const;
  int place(int link, const PoseArray& X, double* R, double* p) const;
  void add_shapes(SceneSpec& spec);
  void add_rows(const SceneSpec& spec);
  void add_springs(const SceneSpec& spec);
  void add_inertia(const SceneSpec& spec);
  void find_paths();
  void find_touchable();

  // What a servo at the end of the step adds to the inertia along its freedom.
  struct ServoInertia {
    int link, actuator;
    double value;
  };

  const Model& model_;
  double dt_;
  std::vector<Link<double>> links_;  // with what the step adds along freedoms
  std::vector<double> rotors_;       // the first armature of each link, without that of servos
  std::vector<ServoInertia> servo_inertias_;
  std::vector<double> damping_;
  std::vector<int> depth_, last_freedom_, root_, shared_, touchable_;
  std::vector<PlacedShape> shapes_;
  std::unique_ptr<const PairRules> rules_;
  std::vector<ScenePair> pairs_;
  std::vector<PairMaterial> materials_;
  std::vector<JointRow> joint_rows_;
  std::vector<HeldFrame> held_;
  std::vector<Spring> springs_;
  std::vector<Actuator> actuators_;
  Scene scene_{};
};

// Height fields of each environment in place of the scene's.
class OwnGround {
 public:
  struct Field {
    int shape;
    std::vector<HeightFieldStorage> storage;  // one an environment
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
  std::vector<const Shape*> own_;
  Scene scene_;
};

// What environments have of their own instead of the scene's. Empty: nothing.
struct Parameters {
  std::vector<double> friction;    // one factor an environment on all coefficients of friction
  std::vector<double> gain_scale;  // one factor an actuator on gains
  std::vector<double> gravity;     // three numbers [m/s^2]
  std::vector<double> masses;      // one factor on mass and inertia of each of the user's links
  std::vector<double> inertias;    // what masses and gains come to: see RolloutJob
  std::shared_ptr<const OwnGround> ground;
};

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
  std::vector<double>& impulses() { return impulses_; }
  std::vector<double>& acceleration() { return acceleration_; }  // mean over the last step, nv an environment
  std::vector<double>& applied() { return applied_; }            // joint forces of the last step, nv an environment
  std::vector<ContactList>& contacts() { return contacts_; }
  std::vector<StepReport>& reports() { return reports_; }

  // Parameters of the environments, one row each; copies share them until one is changed.
  void set_friction(const double* factors);  // (batch)
  void set_gains(const double* factors);     // (batch, actuators)
  void set_gravity(const double* gravity);   // (batch, 3)
  void set_masses(const double* factors);    // (batch, links)
  // Of a shape that is a height field, on a grid like its own; heights: (batch, rows, columns), bases: (batch).
  void set_heights(int shape, const double* heights, const double* bases);

  // Inputs, records and options of the job are used, the rest is filled in.
  void rollout(RolloutJob job, int n_threads);

 private:
  template <class Change>
  void change_parameters(const Change& change);
  std::vector<double> rows(const double* values, int n) const;

  std::shared_ptr<const Simulation> simulation_;
  std::size_t batch_;
  std::vector<double> q_, v_, impulses_, acceleration_, applied_;
  std::shared_ptr<const Parameters> parameters_ = std::make_shared<Parameters>();
  std::vector<ContactList> contacts_;
  std::vector<StepReport> reports_;
};

}  // namespace featherweight
