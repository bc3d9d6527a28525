// rows/compile.hpp -- from the user's closures and anchors to rows.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "model/model.hpp"
#include "rows/rows.hpp"

namespace featherweight {

// A closure of two frames, or an anchor where one is the world. Links and frames are the user's, numbered as the
// model's mounts.
struct ClosureSpec {
  int frame_a = -1;    // link or frame, -1: the world
  PoseArray pose_a{};  // of the closure's frame in it
  int frame_b = -1;
  PoseArray pose_b{};
  bool of_point = true;  // see Closure
  std::vector<int> axes;
  std::vector<double> compliance;  // one per row; none: rigid
  double length = 0;               // see Closure
};

// A coupling of axis joints, see Coupling.
struct CouplingSpec {
  struct Term {
    int dof;                         // degree of freedom of the joint
    std::vector<double> polynomial;  // the constant first
  };
  std::vector<Term> terms;
  double compliance = 0;
};

using ConstraintSpec = std::variant<ClosureSpec, CouplingSpec>;

Closure<double> compile_closure(const Tree<double>& tree, const ClosureSpec& spec);

// Throws std::invalid_argument, with a message that starts with `what`.
std::vector<CouplingTerm<double>> compile_coupling(const Tree<double>& tree, const CouplingSpec& spec,
                                                   const std::string& what);

// Owns the arrays that ConstraintRows points into.
class RowStorage {
 public:
  // Throws std::invalid_argument naming the culprit.
  RowStorage(const Model& model, const std::vector<ConstraintSpec>& specs);
  RowStorage(const RowStorage&) = delete;
  RowStorage& operator=(const RowStorage&) = delete;

  const ConstraintRows<double>& compiled() const { return compiled_; }
  bool between_links() const { return compiled_.n_varying > 0; }  // some of them; rods and couplings count as such

  // What is found out about them.
  void set_mobility(const std::vector<double>& of_ends);
  void set_stops(const StopPlan* stops) { compiled_.stops = stops; }
  void set_limbs(const LimbPlan* limbs) { compiled_.limbs = limbs; }
  void set_loops(const LoopPlan* loops) { compiled_.loops = loops; }

 private:
  void add(const Model& model, const ClosureSpec& spec);
  void add(const Model& model, const CouplingSpec& spec);
  void add_end(RowEnd<double> end, int part, int row, double compliance, bool grounded);
  void sort_ends(const Tree<double>& tree);

  std::vector<Closure<double>> closures_;
  std::vector<Coupling> couplings_;
  std::vector<CouplingTerm<double>> terms_;
  std::vector<ConstraintPlace> places_, coupling_places_;
  std::vector<RowEnd<double>> ends_;
  std::vector<RowRange> of_link_;
  std::vector<SupportingLink> supporting_;
  ConstraintRows<double> compiled_{};
};

}  // namespace featherweight
