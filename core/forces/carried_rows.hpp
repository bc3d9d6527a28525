// forces/carried_rows.hpp -- the rows that carried something in the last step of an environment, as loads.
//
// What a step leaves behind says it all: where it started, its mean acceleration, its contacts and impulses. Velocities
// at its end decide which rows may have an impulse, and which friction is on its bound:
//
//   touching   max(gap, 0) + dt sigma_n <= closed_share g dt^2, or it pushed, or it bounced
//   sliding    slip above `still` of the speeds of the problem, and friction on its bound: what was struck may move
//              although it stuck
//
// Compliant contacts, constraints that yield and servos know their own force, and so does friction of a joint that
// moves: these stay.
// Impulses are compared in N s. Moments of friction are divided by their radius; those of closures and of joints that
// turn by the root mean square of the radii of gyration of the links of their tree.
#pragma once
#include "forces/load.hpp"
#include "kinematics/forward.hpp"
#include "scene/contact_list.hpp"
#include "scene/scene.hpp"
#include "step/strut_lengths.hpp"

namespace featherweight {

struct CarriedTuning {
  // [1] of |g| dt^2: gaps at the end of a step up to this count as closed, 0.4 um in 2 ms. The same that the laws leave
  // open in loaded contacts (LawTuning::closed_share). tests/physics/test_least_forces.py: a box that was dropped.
  static constexpr double closed_share = 0.01;
  // [1] of the speeds of contacts and |g| dt, and [1] of the residual of the step: slower is at rest. A thousand times
  // the default tolerance. tests/physics/test_least_forces.py: any solver, any tolerance.
  static constexpr double still = 1e-6, still_residuals = 10.0;
  // [1] of the bound: friction from there on is on it. test_a_box_that_lands_askew_is_caught_alike_on_both_sides.
  static constexpr double on_bound = 0.999;
};

// The last step of one environment.
struct LastStep {
  const Scene* scene;
  double dt;
  const double *q, *v, *acceleration;  // at its start; mean
  double fall;                         // |gravity| dt [m/s]
  double friction;                     // factor on all coefficients
  double residual;                     // how exactly it was solved, relative
  const double* inertias;              // of links, inertia_numbers each, in place of the scene's; null: none
  const double* grips;                 // of switched closures: see RolloutJob
  const ContactList* contacts;
};

// Where the impulse of a row of a load is kept.
struct CarriedRow {
  double* impulse;
  double length;  // by which it was divided [m], or 1
};

class CarriedRows {
 public:
  // contact_impulses: six per contact; joint_impulses: of joint rows, then of closures. Both are read, and `take_over`
  // writes to them.
  CarriedRows(const LastStep& step, double* contact_impulses, double* joint_impulses);

  int n_islands() const { return static_cast<int>(starts_.size()) - 1; }
  // The rows of one island as a load.
  void gather(int island, Load& load) const;
  void take_over(int island, const Load& load) const;
  // How the lengths of struts change with velocities, if the scene has rows along some.
  const std::vector<double>& strut_travels() const { return strut_travels_; }
  // Frictions of a contact that slide: 1 sliding, 2 spinning, 4 rolling.
  const std::vector<unsigned char>& sliding() const { return sliding_; }

 private:
  const LastStep& step_;
  const Scene& scene_;
  std::vector<host::Pose<double>> poses_;
  std::vector<host::Motion<double>> axes_;  // of degrees of freedom, about the roots of their trees
  std::vector<double> v_end_;
  std::vector<double> strut_lengths_, strut_travels_;
  host::StrutState<double> struts_{};  // where the scene has rows along struts
  std::vector<double> lengths_;        // of the trees, at their roots
  double still_, closed_;              // [m/s], [m]
  std::vector<unsigned char> sliding_;

  Load all_;  // of all islands
  std::vector<CarriedRow> rows_;
  std::vector<int> joined_;                    // of roots of trees: to which they are joined
  std::vector<int> root_of_, order_, starts_;  // of blocks: a root; blocks by island; where each begins

  struct Body {
    double mass;
    host::Vec3<double> center;
    double gyration2;  // square of its radius of gyration [m^2]
  };
  Body body_of(int link) const;
  void place_links();
  void find_lengths();
  void measure_struts();
  void find_velocities();
  void set_tolerances();
  int find(int root);
  void join(int link_a, int link_b);
  void number_islands();

  struct End {
    int link;
    host::Vec3<double> point;
    double sign;
  };
  LoadBlock& begin_block(LoadBlock::Law law, const End* ends, int n_ends);
  void add_row(LoadBlock& block, const host::Vec3<double>& axis, bool turns, double length, const End* ends, int n_ends,
               double* impulse);
  double along(const LoadBlock& block, int row, const double* v) const;
  double length_at(const End* ends, int n_ends) const;
  void drop_block();
  void add_friction(LoadBlock& block, int rows, double bound, double returned, unsigned char bit, std::size_t contact);
  void add_closures(double* impulses);
  void add_coupling(const Coupling& coupling, double* impulse);
  double unit_of_joint(int link) const;
  void add_joint_rows(double* impulses);
  void add_contact(std::size_t k, double* impulse);
};

}  // namespace featherweight
