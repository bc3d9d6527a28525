// forces/least_norm.hpp -- the least impulses that carry a load.
//
//   min 1/2 |x|^2   so that   A x = A x0,   x in K            A = J^T, x0: what a solver found, K: what the laws admit
//
// A x is what impulses do to the degrees of freedom, so velocities stay as they are. The problem is strictly convex:
// its solution depends neither on x0 nor on the way there. It is x = P(A^T nu), where P is the nearest point of K: as
// if every row were a spring of the same stiffness and nu a displacement of what it holds. With that the dual is an
// unbounded concave function of nu with a continuous gradient,
//
//   theta(nu) = nu . A x0 - (z . x - 1/2 |x|^2),   z = A^T nu,   x = P(z),      grad = A (x0 - x)
//
// and Newton's method with the pieces of P finds its maximum, from the solution without bounds, which usually is the
// answer. Directions come from a dense factor, or from conjugate gradients where there are many degrees of freedom: A
// is sparse then.
// Oracle: analytic loads; no admissible change of impulses makes them smaller (tests/physics/test_least_forces.py).
#pragma once
#include "forces/load.hpp"

namespace featherweight {

struct LeastNormTuning {
  // [1] of the size of the impulses: what their effect may change by. Rounding of sums over hundreds of rows.
  // tests/physics/test_least_forces.py.
  static constexpr double exact = 1e-13;
  // [1] steps that leave a larger share of the error are the last, once it is `good`: where a change of impulses has
  // next to no effect, least impulses are no better known than that.
  static constexpr double progress = 0.1, good = 1e-8;
  // [1] the same, beyond which the impulses are left as they were: no admissible ones do what they did, since the step
  // missed its tolerance. test_forces_of_a_step_that_missed_its_tolerance_are_those_of_the_solver.
  static constexpr double enough = 1e-7;
  // [1] what is added to Newton's matrix, whose diagonal is one where all rows take part: a share of the relative
  // error, so that convergence stays superlinear, and at least some rounding.
  static constexpr double damping = 1e-4, least_damping = 1e-14;
  // Degrees of freedom up to which the matrix is factorised: n^3 / 6 multiply-adds against some n products with A.
  // Only time depends on it.
  static constexpr int most_factorised = 120;
  // [1] by how much conjugate gradients reduce their residual, for a direction; and the pivot of the factor that is
  // rounding, of a diagonal of one.
  static constexpr double direction = 1e-6, least_pivot = 1e-13;
  // Steps of Newton's method: two to ten are usual. Conjugate gradients, per degree of freedom and besides; halvings of
  // a step.
  static constexpr int most_steps = 60, gradients_per_dof = 3, more_gradients = 20, most_halvings = 30;
  // [1] share of the promised increase that a step must bring.
  static constexpr double least_increase = 1e-4;
};

class LeastNorm {
 public:
  // Replaces load.impulses. False, and they stay, if no admissible impulses do the same.
  bool find(Load& load);

 private:
  // The piece of P that a block is on.
  struct Piece {
    bool moves;          // the normal pushes, or the interval is not at a bound
    double share;        // of the normal in what it takes from its frictions
    bool bounded[3];     // frictions on their bound,
    double along[3][2];  // in this direction,
    double across[3];    // and how much they turn with what they are the projection of
  };

  std::vector<Piece> pieces_;
  std::vector<double> scale_, wanted_, nu_, gradient_, direction_, residual_, search_, product_, trial_;
  std::vector<double> z_, x_, rows_, matrix_;

  void scale_dofs(Load& load);
  void act(const Load& load, const double* x, double* on_dofs) const;        // A x
  void pull_back(const Load& load, const double* on_dofs, double* z) const;  // A^T nu
  double project(const Load& load);                                          // x_ and pieces_ from z_; theta of them
  static void differentiate(const LoadBlock& block, const Piece& piece, double* rows);
  double evaluate(const Load& load, const std::vector<double>& nu);         // z_, x_, gradient_; theta
  void solve(const Load& load, bool bounded, double damping, double goal);  // direction_
  void factorise(const Load& load, bool bounded, double damping);           // matrix_
  void solve_factorised(int n);
};

}  // namespace featherweight
