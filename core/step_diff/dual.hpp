// step_diff/dual.hpp -- a number with its derivatives by N others: what is short and rarely needed is differentiated by
// running it with these instead of doubles.
#pragma once
#include "kinematics/integrate.hpp"

namespace featherweight::FW_ISA {

template <int N>
struct Dual {
  double x;
  double d[N];

  Dual() = default;
  Dual(double value) : x(value), d{} {}  // NOLINT(google-explicit-constructor): constants have none
  // The k-th of those that others are differentiated by.
  static Dual variable(double value, int k) {
    Dual r(value);
    r.d[k] = 1;
    return r;
  }

  // f(x) with slope df, and f(x, y) likewise
  static Dual chain(double f, double df, const Dual& a) {
    Dual r;
    r.x = f;
    for (int k = 0; k < N; ++k) r.d[k] = df * a.d[k];
    return r;
  }
  static Dual chain(double f, double da, const Dual& a, double db, const Dual& b) {
    Dual r;
    r.x = f;
    for (int k = 0; k < N; ++k) r.d[k] = da * a.d[k] + db * b.d[k];
    return r;
  }
  friend Dual operator+(const Dual& a, const Dual& b) { return chain(a.x + b.x, 1, a, 1, b); }
  friend Dual operator-(const Dual& a, const Dual& b) { return chain(a.x - b.x, 1, a, -1, b); }
  friend Dual operator*(const Dual& a, const Dual& b) { return chain(a.x * b.x, b.x, a, a.x, b); }
  friend Dual operator/(const Dual& a, const Dual& b) { return chain(a.x / b.x, 1 / b.x, a, -a.x / (b.x * b.x), b); }
  friend Dual operator-(const Dual& a) { return chain(-a.x, -1, a); }
  friend bool operator<(const Dual& a, const Dual& b) { return a.x < b.x; }
  friend bool operator>(const Dual& a, const Dual& b) { return a.x > b.x; }
  friend bool operator<=(const Dual& a, const Dual& b) { return a.x <= b.x; }
  friend Dual select(bool m, const Dual& a, const Dual& b) { return m ? a : b; }
  friend bool any(const Dual&, bool m) { return m; }
  friend Dual abs(const Dual& a) { return a.x < 0 ? -a : a; }
  // At zero, where it has none, its slope is zero: lengths are only used where they are not.
  friend Dual library_sqrt(const Dual& a) {
    const double root = library_sqrt(a.x);
    return chain(root, root > 0 ? 0.5 / root : 0, a);
  }
  friend Dual library_atan2(const Dual& y, const Dual& x) {
    const double r2 = x.x * x.x + y.x * y.x, per = r2 > 0 ? 1 / r2 : 0;
    return chain(library_atan2(y.x, x.x), x.x * per, y, -y.x * per, x);
  }
  friend void sincos(const Dual& a, Dual& sine, Dual& cosine) {
    double s, c;
    sincos(a.x, s, c);
    sine = chain(s, c, a), cosine = chain(c, -s, a);
  }
};

}  // namespace featherweight::FW_ISA
