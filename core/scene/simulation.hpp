// scene/simulation.hpp -- a model and what is added to it, compiled to a scene.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "model/model.hpp"
#include "rows/compile.hpp"
#include "scene/pair_rules.hpp"
#include "scene/scene.hpp"

namespace featherweight {

// What is added to a model to make it a scene. Links and frames are the user's; -1 is the world.
struct ShapeSpec {
  Shape shape;
  int link;
  PoseArray placement;  // on the link
};
struct JointRowSpec {
  JointRow::Kind kind;
  int dof;
  double bound;
  double restitution;
};
struct TendonRowSpec {
  JointRow::Kind kind;
  std::vector<std::pair<int, double>> terms;  // degrees of freedom of axes, and the travel of the tendon per theirs
  double bound;
};
struct TransmissionSpec {
  Transmission law;                     // terms and wrench are filled in
  std::vector<TransmissionTerm> terms;  // q is filled in
  int link;                             // the user's; -1: none
  PoseArray placement;                  // of the frame of the wrench
  std::array<double, 6> wrench;         // in that frame
};
struct LiftSpec {
  int link;                      // the user's
  double mass;                   // [kg]
  std::array<double, 3> center;  // [m], on the link
};
struct StrutSpec {
  struct Point {
    int link;                 // the user's; -1: the world
    std::array<double, 3> p;  // in its coordinates
  };
  struct Bend {
    int span;             // from the point of this number to the next
    int link;             // the user's; -1: the world
    PoseArray placement;  // on the link
    bool is_ball;
    double radius;
    std::vector<Point> side;  // none, or one
  };
  Strut law;  // points and links are filled in
  std::vector<Point> points;
  std::vector<double> shares;  // of spans; one less than points
  std::vector<Bend> bends;
};
struct StrutRowSpec {
  JointRow::Kind kind;
  int strut;
  double bound;
};
struct SceneSpec {
  std::vector<ShapeSpec> shapes;
  std::shared_ptr<const PairRules> rules;  // one per shape; null: nothing touches
  std::vector<PairMaterial> materials;
  std::vector<JointRowSpec> joint_rows;
  std::vector<TendonRowSpec> tendon_rows;
  std::vector<ClosureSpec> closures;  // rigid, axes in rising order
  std::vector<int> switched;          // closures that environments switch on and off, rising
  std::vector<CouplingSpec> couplings;
  std::vector<GuideLaw> guides;     // of rows of closures and then of couplings; empty: all are held
  std::vector<Spring> springs;      // q is filled in
  std::vector<Actuator> actuators;  // q and is_row are filled in
  std::vector<TransmissionSpec> transmissions;
  std::vector<Activation> activations;
  std::vector<ActivatedLaw> activated_laws;
  std::vector<LiftSpec> lifts;
  std::vector<StrutSpec> struts;
  std::vector<StrutRowSpec> strut_rows;
  std::vector<double> damping;   // one per degree of freedom
  std::vector<double> inertias;  // likewise, roughly: by it strong dampers are told from weak ones; 0: not known
  Medium medium{};
  std::vector<BoxInMedium> boxes;
  std::vector<EllipsoidInMedium> ellipsoids;
};

// Immutable; shareable between threads.
class Simulation {
 public:
  // The model must outlive it. Throws std::invalid_argument naming the culprit.
  Simulation(const Model& model, SceneSpec spec, double dt, Integrator integrator);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  const Model& model() const { return model_; }
  const Scene& scene() const { return scene_; }  // with all closures
  // With those of the switched closures whose flag is set; made when it is first asked for.
  const Scene& scene(const std::vector<bool>& on) const;
  const std::vector<Mount<double>>& switched_frames() const { return switched_frames_; }
  double dt() const { return dt_; }
  int n_kept_impulses() const { return scene_.n_kept; }
  // Whether the gains of actuators are part of the inertia.
  bool has_servo_inertia() const { return !servo_inertias_.empty(); }
  // Inertias of all compiled links (see RolloutJob) with factors on those of the user's links and on the gains of
  // actuators; null: one.
  void scale_inertias(const double* masses, const double* gains, double* inertias) const;

 private:
  int link_of_dof(int dof) const;
  int coordinate_of_dof(int dof) const;  // -1: an axis of a ball or free joint
  void find_damped(const SceneSpec& spec);
  void set_rates(Actuator& actuator) const;
  void add_shapes(SceneSpec& spec);
  void add_rows(const SceneSpec& spec);
  void add_tendon_row(const TendonRowSpec& spec);
  void plan_held(const SceneSpec& spec);
  void find_switched(const SceneSpec& spec);
  void add_springs(const SceneSpec& spec);
  void add_inertia(const SceneSpec& spec);
  void add_medium(const SceneSpec& spec);
  void add_transmissions(const SceneSpec& spec);
  void add_lifts(const SceneSpec& spec);
  void add_struts(const SceneSpec& spec);
  int strut_slot(const Strut& strut, int link);
  StrutPoint place_strut_point(const Strut& strut, const StrutSpec::Point& point);
  void find_strut_path(Strut& strut);
  void add_strut_row(const StrutRowSpec& spec);
  void find_paths();
  void find_touchable();

  // What a servo at the end of the step adds to the inertia along its degree of freedom.
  struct ServoInertia {
    int link, actuator;
    double value;
  };

  const Model& model_;
  double dt_;
  std::vector<Link<double>> links_;  // with what the step adds along degrees of freedom
  std::vector<double> rotors_;       // the first armature of each link, without that of servos
  std::vector<ServoInertia> servo_inertias_;
  std::vector<double> damping_;
  std::vector<double> damped_;  // of each degree of freedom: the share of dampers that acts at the end of a kick
  std::vector<int> depth_, last_dof_, root_, shared_, touchable_, limited_, weighs_;
  std::vector<PlacedShape> shapes_;
  std::shared_ptr<const PairRules> rules_;
  std::vector<ScenePair> pairs_;
  std::vector<PairMaterial> materials_;
  std::vector<JointRow> joint_rows_;
  std::vector<JointTerm<double>> tendon_terms_;
  std::vector<Closure<double>> closures_;
  std::vector<Coupling> couplings_;
  std::vector<CouplingTerm<double>> coupling_terms_;
  HeldStorage held_;
  std::vector<int> grips_, kept_rows_;
  std::vector<Mount<double>> switched_frames_;  // user's links that carry second frames of switched closures
  std::unique_ptr<const SceneSpec> spec_;       // null: nothing is switched
  Integrator integrator_;
  mutable std::mutex parts_guard_;
  mutable std::map<std::vector<bool>, std::unique_ptr<const Simulation>> parts_;  // with some closures switched off
  std::vector<Spring> springs_;
  std::vector<Actuator> actuators_;
  std::vector<Transmission> transmissions_;
  std::vector<TransmissionTerm> transmission_terms_;
  std::vector<Activation> activations_;
  std::vector<ActivatedLaw> activated_laws_;
  std::vector<Lift> lifts_;
  std::vector<Strut> struts_;
  std::vector<StrutPoint> strut_points_;
  std::vector<StrutBend> strut_bends_;
  std::vector<StrutLink> strut_links_;
  std::vector<StrutPathLink> strut_paths_;
  std::vector<int> strutted_;
  std::vector<int> lifted_;
  std::vector<BoxDrag> boxes_;
  std::vector<EllipsoidDrag> ellipsoids_;
  Scene scene_{};
};

}  // namespace featherweight
