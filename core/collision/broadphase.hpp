// collision/broadphase.hpp -- which pairs of shapes may touch: axis-aligned boxes, by sweep and prune.
//   O(n log n + pairs found along the sweep axis). The axis is the one along which the shapes are spread most.
//   Oracle: all pairs, in Python.
#pragma once
#include <cstdint>

#include "collision/shape.hpp"

namespace featherweight {

struct Bounds {
  double lower[3], upper[3];  // [m] world
};

// Of a placed shape, widened by `margin` on every side. Planes: infinite, but for the side an aligned one leaves free.
Bounds bounds(const Shape& shape, const Placement<double>& X_WS, double margin);

struct ShapePair {
  int first, second;  // first < second
};

// Which shapes may touch. Null arrays allow all.
struct PairFilter {
  const std::uint32_t* contype = nullptr;      // a pair is allowed if contype of one and conaffinity of the other
  const std::uint32_t* conaffinity = nullptr;  // have a bit in common
  const int* group = nullptr;                  // shapes of the same group >= 0 (one body) never touch
  bool (*allowed)(const void* context, int first, int second) = nullptr;  // asked last
  const void* context = nullptr;
};

// Owns buffers that only grow: no allocation once they are warm. Results do not depend on earlier calls.
class Broadphase {
 public:
  Broadphase();
  ~Broadphase();
  Broadphase(const Broadphase&) = delete;
  Broadphase& operator=(const Broadphase&) = delete;

  // The pairs whose boxes overlap, in rising order; returns how many. They stay valid until the next call.
  int find(const Bounds* boxes, int n, const PairFilter& filter);
  const ShapePair* pairs() const;

 private:
  struct Buffers;
  Buffers* buffers_;
};

}  // namespace featherweight
