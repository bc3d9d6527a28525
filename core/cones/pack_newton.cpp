#if !defined(FW_COUNTING)
#include "cones/own_matrix.hpp"
#include "cones/pack_tiles.hpp"
#include "cones/tuning.hpp"
#include "lanes/square_root.hpp"

namespace featherweight::FW_ISA {
namespace {

template <class S>
FW_INLINE S square_of_length(const S& x, const S& y) {
  return plus_product(x * x, y, y);
}

// Matrix: PackTiles or OwnMatrix.
template <class S, class Matrix>
class PackNewton {
 public:
  template <class Problem>
  explicit PackNewton(Problem& problem) : problem_(problem), matrix_(problem), points_(problem.points), n_(problem.n) {}

  void start() {
    S largest(0);
    for (int i = 0; i < n_; ++i) {
      PackPoint<S>& p = points_[i];
      const S G[3] = {matrix_.diagonal(i, 0), matrix_.diagonal(i, 1), matrix_.diagonal(i, 2)};
      const S mean = (G[0] + G[1] + G[2]) * S(1.0 / 3);
      for (int r = 0; r < 3; ++r) p.D[r] = p.are_joints ? G[r] : mean;
      if (!p.are_joints) largest = select((p.is_there > S(0)) & (mean > largest), mean, largest);
    }
    problem_.smallest =
        largest * S(MobilityTuning::immobile * MobilityTuning::regularisation) + S(MobilityTuning::tiny);
    matrix_.set_velocities();
    problem_.of.steps = S(0);
    problem_.of.residual = residual();
  }

  // In environments in which the residual is more than enough.
  void make_step(const S& enough) {
    PackFigures<S>& of = problem_.of;
    const auto goes_on = of.residual > enough;
    linearise();
    matrix_.solve_step();
    for (int i = 0; i < n_; ++i)
      for (int r = 0; r < 3; ++r)
        points_[i].lambda[r] = points_[i].lambda[r] + select(goes_on, points_[i].step[r], S(0));
    matrix_.set_velocities();
    of.steps = of.steps + select(goes_on, S(1), S(0));
    of.residual = residual();
  }

  void report() {
    S primal(0), dual(0), complementarity(0);
    for (int i = 0; i < n_; ++i) {
      const PackPoint<S>& p = points_[i];
      for (int r = 0; r < 3 && p.are_joints; ++r) {
        const S to_lower = p.lambda[r] - p.lower[r], to_upper = p.lambda[r] - p.upper[r];
        const S power = p.sigma[r] * select(p.sigma[r] > S(0), to_lower, to_upper);
        primal = larger(primal, larger(to_upper, -to_lower));
        complementarity = larger(complementarity, abs(power));
      }
      if (p.are_joints) continue;
      const S *const l = p.lambda, *const s = p.sigma, radius = p.mu * larger(l[2], S(0));
      const S force = square_root(square_of_length(l[0], l[1])), speed = square_root(square_of_length(s[0], s[1]));
      const S power = plus_product(plus_product(plus_product(l[2] * s[2], radius, speed), l[1], s[1]), l[0], s[0]);
      const auto is_there = p.is_there > S(0);
      primal = larger(primal, select(is_there, larger(force - radius, -l[2]), S(0)));
      dual = larger(dual, select(is_there, -s[2], S(0)));
      complementarity = larger(complementarity, select(is_there, abs(power), S(0)));
    }
    problem_.of.primal = primal, problem_.of.dual = dual, problem_.of.complementarity = complementarity;
  }

 private:
  PointProblem<S>& problem_;
  Matrix matrix_;
  PackPoint<S>* points_;
  int n_;

  // The natural map (residuals.hpp), the largest of points that are there; what is no number is no solution.
  S residual() const {
    S worst(0);
    const auto keep_worst = [&](const S& is_there, const S& squared) FW_LAMBDA_INLINE {
      const S bounded = select(squared <= S(1e300), squared, S(1e300));
      worst = select((is_there > S(0)) & (bounded > worst), bounded, worst);
    };
    for (int i = 0; i < n_; ++i) {
      const PackPoint<S>& p = points_[i];
      for (int r = 0; r < 3 && p.are_joints; ++r) {
        const S own = p.D[r] * p.lambda[r], lower = p.D[r] * p.lower[r], upper = p.D[r] * p.upper[r];
        const S e = own - smaller(larger(own - p.sigma[r], lower), upper);
        keep_worst(p.is_there, e * e);
      }
      if (p.are_joints) continue;
      const S D = p.D[0], lx = D * p.lambda[0], ly = D * p.lambda[1], x = lx - p.sigma[0], y = ly - p.sigma[1];
      const S R = D * p.mu * larger(p.lambda[2], S(0)), length2 = square_of_length(x, y);
      const auto slides = length2 > R * R;
      S ex = p.sigma[0], ey = p.sigma[1];
      if (any(R, slides)) {  // roots and quotients take longest
        const S share = R / square_root(select(slides, length2, S(1)));
        ex = select(slides, minus_product(lx, share, x), ex);
        ey = select(slides, minus_product(ly, share, y), ey);
      }
      const S z = smaller(D * p.lambda[2], p.sigma[2]);
      keep_worst(p.is_there, larger(square_of_length(ex, ey), z * z));
    }
    return square_root(worst);
  }

  // D times a typical impulse of points that push [m/s].
  S typical_velocity() const {
    S sum(0), count(0);
    for (int i = 0; i < n_; ++i) {
      if (points_[i].are_joints) continue;
      const auto pushes = points_[i].lambda[2] > S(0);
      sum = sum + select(pushes, points_[i].D[0] * points_[i].lambda[2], S(0));
      count = count + select(pushes, S(1), S(0));
    }
    const auto some = count > S(0);
    return select(some, sum / select(some, count, S(1)), problem_.scale);
  }

  void linearise() {
    using Tuning = NewtonTuning;
    const S share = problem_.of.residual * S(PackTuning::eps_ratio) / typical_velocity();
    const S eps = smaller(larger(share, S(Tuning::least_eps)), S(Tuning::largest_eps));
    for (int i = 0; i < n_; ++i) {
      PackPoint<S>& p = points_[i];
      if (p.are_joints)
        linearise_joints(p, eps + S(MobilityTuning::immobile * MobilityTuning::regularisation));
      else
        linearise(p, plus_product(problem_.smallest, eps, p.D[0]));
    }
  }
  static FW_INLINE void linearise_joints(PackPoint<S>& p, const S& little) {
    const S none(0), one(1);
    S* const L[3] = {&p.L00, &p.L11, &p.Ln};
    S* const K[3] = {&p.K00, &p.K11, &p.Kn};
    for (int r = 0; r < 3; ++r) {
      const S D = p.D[r], x = minus_product(-p.sigma[r], -D, p.lambda[r]), lower = D * p.lower[r],
              upper = D * p.upper[r];
      const auto is_inside = (x > lower) & (x < upper);
      *L[r] = select(is_inside, one, none);
      *K[r] = select(is_inside, little * D, one);
      p.step[r] = select(is_inside, -p.sigma[r], select(x > lower, p.upper[r], p.lower[r]) - p.lambda[r]);
    }
    p.L01 = p.K01 = p.K02 = p.K12 = none;
  }
  // As if nothing slid, and what changes where something does.
  static FW_INLINE void linearise(PackPoint<S>& p, const S& little) {
    const S none(0), one(1), D = p.D[0];
    const S normal = minus_product(-p.sigma[2], -D, p.lambda[2]);
    const auto pushes = (normal > none) & (p.is_there > none);
    p.L00 = p.L11 = p.Ln = select(pushes, one, none);
    p.K00 = p.K11 = p.Kn = select(pushes, little, one);
    p.L01 = p.K01 = p.K02 = p.K12 = none;
    for (int r = 0; r < 3; ++r) p.step[r] = -select(pushes, p.sigma[r], p.lambda[r]);
    const S R = p.mu * normal;
    const S x = minus_product(-p.sigma[0], -D, p.lambda[0]), y = minus_product(-p.sigma[1], -D, p.lambda[1]);
    const S length2 = square_of_length(x, y);
    const auto slides = (length2 > R * R) & pushes;
    if (!any(R, slides)) return;
    const S length = square_root(select(slides, length2, one));
    const S beta = select(slides, minus_product(-D, -D, length / select(slides, R, one)), none);
    const S ex = x / length, ey = y / length, xx = ex * ex, yy = ey * ey, xy = ex * ey;
    const S across = beta + little;
    p.L00 = select(slides, yy, p.L00), p.L01 = select(slides, -xy, none), p.L11 = select(slides, xx, p.L11);
    p.K00 = select(slides, plus_product(across * yy, D, xx), p.K00);
    p.K01 = select(slides, plus_product(-(across * xy), D, xy), none);
    p.K11 = select(slides, plus_product(across * xx, D, yy), p.K11);
    p.K02 = select(slides, -(D * p.mu * ex), none), p.K12 = select(slides, -(D * p.mu * ey), none);
    // velocities across, with their friction; impulses beyond the cone, along
    const S sx = plus_product(p.sigma[0], beta, p.lambda[0]), sy = plus_product(p.sigma[1], beta, p.lambda[1]);
    const S beyond = D * minus_product(plus_product(ex * p.lambda[0], ey, p.lambda[1]), p.mu, p.lambda[2]);
    const S bx = plus_product(plus_product(yy * sx, -xy, sy), beyond, ex);
    const S by = plus_product(plus_product(xx * sy, -xy, sx), beyond, ey);
    p.step[0] = select(slides, -bx, p.step[0]), p.step[1] = select(slides, -by, p.step[1]);
  }
};

// Read in place: by way of a register it takes three instructions and the whole of it.
template <class S>
FW_INLINE double lane_of(const S& x, int lane) {
  return reinterpret_cast<const OwnProblem::Loose*>(&x)[lane];
}

// One lane of a pack, on the points that it has.
template <class S>
class Alone {
 public:
  Alone(PackProblem<S>& pack, int lane, OwnProblem& problem) : pack_(pack), lane_(lane), problem_(problem) {
    int of[most_pack_points];
    problem.n = 0;
    for (int i = 0; i < pack.n; ++i)
      if (get(pack.points[i].is_there) > 0) of[problem.n++] = i;
    const int registers = problem.registers(), rows = registers * width_of<S>;
    for (int column = 1; column <= 3 * problem.n; ++column)
      problem.G[column * registers - 1] = S(0);  // has rows that do not exist
    OwnProblem::Loose* const G = &problem.coupling(0, 0);
    for (int i = 0; i < problem.n; ++i) {
      problem.points[i].are_joints = pack.points[of[i]].are_joints;
      for_numbers(problem.points[i], pack.points[of[i]], [&](double& own, const S& x) { own = get(x); });
      for (int j = 0; j <= i; ++j) {
        const S* const e = pack.G[of[i] * pack.n + of[j]];
#pragma GCC unroll 3
        for (int c = 0; c < 3; ++c)
#pragma GCC unroll 3
          for (int r = 0; r < 3; ++r)
            G[(3 * j + c) * rows + 3 * i + r] = G[(3 * i + r) * rows + 3 * j + c] = get(e[3 * c + r]);
      }
    }
    problem.scale = get(pack.scale), problem.smallest = get(pack.smallest);
    problem.of.steps = get(pack.of.steps), problem.of.residual = get(pack.of.residual);
  }

  void hand_back() {
    for (int i = 0, k = 0; i < pack_.n; ++i) {
      if (!(get(pack_.points[i].is_there) > 0)) continue;
      for_numbers(problem_.points[k++], pack_.points[i], [&](double own, S& x) { set(x, own); });
    }
    set(pack_.of.steps, problem_.of.steps), set(pack_.of.residual, problem_.of.residual);
  }

 private:
  PackProblem<S>& pack_;
  int lane_;
  OwnProblem& problem_;

  double get(const S& x) const { return lane_of(x, lane_); }
  void set(S& x, double value) const { reinterpret_cast<OwnProblem::Loose*>(&x)[lane_] = value; }

  // All that is not of a single step.
  template <class Own, class Point, class F>
  static void for_numbers(Own& own, Point& point, const F& f) {
    f(own.is_there, point.is_there), f(own.mu, point.mu);
    for (int r = 0; r < 3; ++r) {
      f(own.lower[r], point.lower[r]), f(own.upper[r], point.upper[r]);
      f(own.g[r], point.g[r]), f(own.lambda[r], point.lambda[r]), f(own.sigma[r], point.sigma[r]);
      f(own.D[r], point.D[r]);
    }
  }
};

template <class S>
int count_above(const S& x, const S& bound) {
  int n = 0;
  for (int lane = 0; lane < width_of<S>; ++lane) n += lane_of(x, lane) > lane_of(bound, lane);
  return n;
}

}  // namespace

void solve_pack(PackProblem<Native<double>>& problem, double tolerance, int most_steps, OwnProblem& alone) {
  using S = Native<double>;
  PackNewton<S, PackTiles<S>> pack(problem);
  pack.start();
  const S enough = problem.scale * S(PackTuning::aim * tolerance);
  int steps = 0;
  const bool fits = problem.n <= most_pack_points;  // together
  while (fits && steps < most_steps && count_above(problem.of.residual, enough) > PackTuning::few * width_of<S>)
    pack.make_step(enough), ++steps;
  for (int lane = 0; lane < width_of<S>; ++lane) {
    const double own_enough = lane_of(enough, lane);
    if (!(lane_of(problem.of.residual, lane) > own_enough)) continue;
    Alone<S> rest(problem, lane, alone);
    PackNewton<double, OwnMatrix> newton(alone);
    for (int k = steps; k < most_steps && alone.of.residual > own_enough; ++k) newton.make_step(own_enough);
    rest.hand_back();
  }
  pack.report();
}

void solve_own(OwnProblem& problem, double tolerance, int most_steps) {
  PackNewton<double, OwnMatrix> newton(problem);
  newton.start();
  const double enough = problem.scale * (PackTuning::aim * tolerance);
  for (int k = 0; k < most_steps && problem.of.residual > enough; ++k) newton.make_step(enough);
  newton.report();
}

}  // namespace featherweight::FW_ISA
#endif
