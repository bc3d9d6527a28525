// control/linear_quadratic.hpp -- linear-quadratic problems of optimal control, and what solves them in one instruction
// set. Plain data.
//
//   minimise    sum over k < N of  1/2 x^T Q x + u^T S x + 1/2 u^T R u + q^T x + r^T u,  and  1/2 x^T Q x + q^T x at N
//   subject to  x at k + 1 = A x + B u + c
//
// States of a robot are (coordinates, velocities), in tangent space, and in one step of a simulator the coordinates
// follow from the velocities at its end: dq' = E dq + D dv'. Then rows of coordinates in A and B are not read.
#pragma once
#include <cstddef>

#include "memory/memory.hpp"

namespace featherweight {

// One problem. Arrays are contiguous, node by node; null: zero.
struct LinearQuadratic {
  int n_nodes, n_states, n_controls;
  const double *A, *B;  // (N, n, n), (N, n, m)
  const double *Q, *R;  // (N + 1, n, n), (N, m, m); or their diagonals
  int Q_is_diagonal, R_is_diagonal;
  const double* S;              // (N, m, n)
  const double *q, *r, *c;      // (N + 1, n), (N, m), (N, n)
  const double* start;          // (n), the first state
  const double *E, *D;          // (n / 2, n / 2): dq' = E dq + D dv'; both null: no row follows from others
  int E_stride;                 // numbers from node to node in E and D; 0: all nodes share them
  int n_blocks;                 // on the diagonals of E and D
  const int* blocks;            // (n_blocks + 1), where they start
  double regularisation;        // joins the diagonal of R
  const double *lower, *upper;  // (N, m), bounds on feedforward: u at x = 0; null: none
};

// u = feedforward + gain x in every node, what comes of it, and the value 1/2 x^T P x + p^T x of the first state.
struct LinearQuadraticSolution {
  double *gain, *feedforward;  // (N, m, n), (N, m)
  double *x, *u;               // (N + 1, n), (N, m)
  double *P, *p;               // (n, n), (n)
};

// Residuals at nodes, to second order: J (N, rows, n), slopes and curvatures of what each row costs, (N, rows).
struct Residuals {
  int n_nodes, n_rows, n_states;
  const double *J, *slope, *curvature;
};

struct ControlKernels {
  // Returns the node from the end at which no control is best, since costs of controls are not positive there; or -1.
  int (*riccati)(const LinearQuadratic&, const LinearQuadraticSolution&, Memory&);
  // q = J^T slope, (N, n), and Q = J^T curvature J, (N, n, n); both are zero before.
  void (*gauss_newton)(const Residuals&, double* q, double* Q);
};

}  // namespace featherweight
