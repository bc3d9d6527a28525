// simulation/simulation.hpp -- a scene compiled for a step of given length, and environments that live in it.
#pragma once
#include <memory>
#include <vector>

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

 private:
  int link_of_freedom(int freedom) const;
  int place(int link, const PoseArray& X, double* R, double* p) const;
  void add_shapes(SceneSpec& spec);
  void add_rows(const SceneSpec& spec);
  void add_springs(const SceneSpec& spec);
  void add_inertia(const SceneSpec& spec);
  void find_paths();
  void find_touchable();

  const Model& model_;
  double dt_;
  std::vector<Link<double>> links_;  // with what the step adds along freedoms
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
  std::vector<double>& friction() { return friction_; }          // factor on friction, one an environment, or none
  std::vector<double>& gain_scale() { return gain_scale_; }      // factor on gains, n_actuators each, or none
  std::vector<ContactList>& contacts() { return contacts_; }
  std::vector<StepReport>& reports() { return reports_; }

  // Inputs, records and options of the job are used, the rest is filled in.
  void rollout(RolloutJob job, int n_threads);

 private:
  std::shared_ptr<const Simulation> simulation_;
  std::size_t batch_;
  std::vector<double> q_, v_, impulses_, acceleration_, applied_, friction_, gain_scale_;
  std::vector<ContactList> contacts_;
  std::vector<StepReport> reports_;
};

}  // namespace featherweight
