// lanes/counted.hpp -- a double that counts what is done to it: the same kernels, run with it, count themselves.
#pragma once
#include "lanes/lanes.hpp"

namespace featherweight::FW_ISA {

struct Counted {
  double x;
  static inline thread_local long additions = 0, multiplications = 0, divisions = 0, sincos_calls = 0;

  Counted() = default;
  Counted(double value) : x(value) {}

  friend Counted operator+(Counted a, Counted b) { return ++additions, Counted(a.x + b.x); }
  friend Counted operator-(Counted a, Counted b) { return ++additions, Counted(a.x - b.x); }
  friend Counted operator*(Counted a, Counted b) { return ++multiplications, Counted(a.x * b.x); }
  friend Counted operator/(Counted a, Counted b) { return ++divisions, Counted(a.x / b.x); }
  friend Counted operator-(Counted a) { return Counted(-a.x); }
  friend Counted plus_product(Counted c, Counted a, Counted b) { return c + a * b; }
  Counted& operator+=(Counted b) { return *this = *this + b; }
  Counted& operator-=(Counted b) { return *this = *this - b; }
  Counted& operator*=(Counted b) { return *this = *this * b; }
  friend bool operator<(Counted a, Counted b) { return a.x < b.x; }
  friend bool operator<=(Counted a, Counted b) { return a.x <= b.x; }
  friend bool operator>(Counted a, Counted b) { return a.x > b.x; }
  friend Counted select(bool m, Counted a, Counted b) { return m ? a : b; }
  friend bool any(Counted, bool m) { return m; }
  friend Counted abs(Counted a) { return Counted(a.x < 0 ? -a.x : a.x); }
};

template <>
struct ScalarTraits<Counted> {
  using Element = double;
  static constexpr int width = 1;
  static double get(const Counted& s, int) { return s.x; }
  static void set(Counted& s, int, double value) { s.x = value; }
};

}  // namespace featherweight::FW_ISA
