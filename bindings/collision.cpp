// bindings/collision.cpp -- shapes and the collision of two of them, for tests and for the scene.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "collision.hpp"
#include "collision/broadphase.hpp"
#include "collision/collide.hpp"
#include "collision/height_field.hpp"
#include "collision/hull.hpp"
#include "collision/sweep.hpp"

namespace featherweight::bindings {
namespace {

constexpr const char* kinds[] = {"plane",     "sphere", "capsule", "cylinder",
                                 "ellipsoid", "box",    "convex",  "height_field"};
constexpr int n_kinds = 8, n_sizes[n_kinds] = {0, 1, 2, 2, 3, 3, 0, 0};

ShapeKind find_kind(const std::string& name) {
  for (int k = 0; k < n_kinds; ++k)
    if (name == kinds[k]) return static_cast<ShapeKind>(k);
  std::string known;
  for (const char* kind : kinds) known += std::string(known.empty() ? "" : ", ") + kind;
  throw std::invalid_argument("kind: no shape '" + name + "', known are " + known);
}

}  // namespace

Shape find_shape(const std::string& name, nb::handle size) {
  const ShapeKind kind = find_kind(name);
  if (kind == ShapeKind::convex) return make_shape(&nb::cast<const ConvexHullStorage&>(size).view);
  if (kind == ShapeKind::height_field) return make_shape(&nb::cast<const HeightFieldStorage&>(size).view);
  const std::vector<double> lengths = nb::cast<std::vector<double>>(size);
  if (static_cast<int>(lengths.size()) != n_sizes[static_cast<int>(kind)])
    throw std::invalid_argument("size: a " + name + " has " + std::to_string(n_sizes[static_cast<int>(kind)]) +
                                " lengths, got " + std::to_string(lengths.size()));
  return make_shape(kind, lengths.data());
}

namespace {

// From a homogeneous matrix (4, 4).
Placement<double> find_placement(const char* name, nb::handle pose) {
  ArrayArgument matrix(name, pose);
  matrix.batch({4, 4});
  matrix.require('d');
  const double* X = matrix.data<double>();
  return {{X[0], X[1], X[2], X[4], X[5], X[6], X[8], X[9], X[10]}, {X[3], X[7], X[11]}};
}

nb::object integers(const nb::list& values, const char* dtype) {
  return nb::module_::import_("numpy").attr("array")(values, nb::arg("dtype") = dtype);
}

nb::tuple contact_arrays(const ContactPoint* points, int n) {
  const std::size_t count = static_cast<std::size_t>(n);
  NewArray position({count, 3}, 'd'), normal({count, 3}, 'd'), gap({count}, 'd');
  nb::list feature;
  for (int k = 0; k < n; ++k) {
    for (int i = 0; i < 3; ++i) {
      static_cast<double*>(position.data())[3 * k + i] = points[k].position[i];
      static_cast<double*>(normal.data())[3 * k + i] = points[k].normal[i];
    }
    static_cast<double*>(gap.data())[k] = points[k].gap;
    feature.append(points[k].feature);
  }
  return nb::make_tuple(position.take(), normal.take(), gap.take(), integers(feature, "uint32"));
}

ConvexHullStorage new_hull(nb::handle vertices, const std::vector<std::vector<int>>& faces) {
  ArrayArgument points("vertices", vertices);
  const int n = static_cast<int>(points.batch({3}));
  points.require('d');
  std::vector<int> triangles;
  for (const std::vector<int>& face : faces) {
    if (face.size() != 3)
      throw std::invalid_argument("faces: want triangles, got one with " + std::to_string(face.size()) + " corners");
    triangles.insert(triangles.end(), face.begin(), face.end());
  }
  return build_hull(points.data<double>(), n, triangles.data(), static_cast<int>(faces.size()));
}

HeightFieldStorage new_field(nb::handle heights, const std::vector<double>& size) {
  if (size.size() != 3)
    throw std::invalid_argument("size: want (half edge x, half edge y, base), got " + std::to_string(size.size()) +
                                " lengths");
  ArrayArgument grid("heights", heights);
  const nb::object shape = nb::module_::import_("numpy").attr("shape")(heights);
  if (nb::len(shape) != 2) throw std::invalid_argument("heights: want rows x columns");
  const std::ptrdiff_t columns = nb::cast<std::ptrdiff_t>(shape[1]);
  const int rows = static_cast<int>(grid.batch({columns}));
  grid.require('d');
  return build_height_field(grid.data<double>(), rows, static_cast<int>(columns), size[0], size[1], size[2]);
}

nb::list hull_faces(const ConvexHullStorage& hull) {
  nb::list faces;
  for (int f = 0; f < hull.view.n_faces; ++f) {
    nb::list corners;
    for (int k = hull.view.face_start[f]; k < hull.view.face_start[f + 1]; ++k)
      corners.append(hull.view.face_vertex[k]);
    faces.append(corners);
  }
  return faces;
}

// A shape that turns about its centre, or whose centre turns with it; velocity: linear, angular, world axes.
Moving find_moving(const Shape& shape, const Placement<double>& start, const std::vector<double>& velocity,
                   bool circles) {
  if (velocity.size() != 6) throw std::invalid_argument("velocity: want 6 numbers");
  Moving m{&shape, start, {}, {}, {}, {}};
  for (int r = 0; r < 3; ++r) {
    m.center[r] = start.p[r];
    for (int c = 0; c < 3; ++c) m.center[r] += start.R[3 * r + c] * shape.center[c];
    (circles ? m.turning : m.straight)[r] = velocity[static_cast<std::size_t>(r)];
    m.angular[r] = velocity[static_cast<std::size_t>(r) + 3];
  }
  return m;
}

Bounds find_bounds(const double* box) { return {{box[0], box[1], box[2]}, {box[3], box[4], box[5]}}; }

}  // namespace

void bind_collision(nb::module_& m, nb::module_& testing) {
  nb::class_<ConvexHullStorage>(m, "ConvexHull", "A convex polytope: polygons merged from the triangles of a hull.")
      .def(
          "__init__",
          [](ConvexHullStorage* self, nb::handle vertices, const std::vector<std::vector<int>>& faces) {
            new (self) ConvexHullStorage(new_hull(vertices, faces));
          },
          nb::arg("vertices"), nb::arg("faces"),
          nb::sig("def __init__(self, vertices: numpy.typing.ArrayLike, faces: Sequence[Sequence[int]]) -> None"),
          "vertices (n, 3) [m], triangles of their convex hull, wound either way.")
      .def_prop_ro(
          "vertices",
          [](const ConvexHullStorage& hull) {
            NewArray out({static_cast<std::size_t>(hull.view.n_vertices), 3}, 'd');
            std::copy(hull.vertices.begin(), hull.vertices.end(), static_cast<double*>(out.data()));
            return out.take();
          },
          nb::sig("def vertices(self) -> numpy.typing.NDArray[numpy.float64]"), "Corners, (n, 3) [m].")
      .def_prop_ro("faces", hull_faces, nb::sig("def faces(self) -> list[list[int]]"),
                   "Corners of each polygon, counterclockwise from outside.")
      .def_prop_ro(
          "face_normals",
          [](const ConvexHullStorage& hull) {
            NewArray out({static_cast<std::size_t>(hull.view.n_faces), 3}, 'd');
            std::copy(hull.face_normal.begin(), hull.face_normal.end(), static_cast<double*>(out.data()));
            return out.take();
          },
          nb::sig("def face_normals(self) -> numpy.typing.NDArray[numpy.float64]"), "Outward, (n, 3).")
      .def("__repr__", [](const ConvexHullStorage& hull) {
        return "ConvexHull(" + std::to_string(hull.view.n_vertices) + " vertices, " +
               std::to_string(hull.view.n_faces) + " faces)";
      });
  nb::class_<HeightFieldStorage>(m, "HeightField", "Ground given by heights on a regular grid.")
      .def(
          "__init__",
          [](HeightFieldStorage* self, nb::handle heights, const std::vector<double>& size) {
            new (self) HeightFieldStorage(new_field(heights, size));
          },
          nb::arg("heights"), nb::arg("size"),
          nb::sig("def __init__(self, heights: numpy.typing.ArrayLike, size: Sequence[float]) -> None"),
          "heights (rows, columns) [m], rows along y; size: half edges x, y and thickness below the lowest height [m].")
      .def("__repr__", [](const HeightFieldStorage& field) {
        return "HeightField(" + std::to_string(field.view.rows) + " rows, " + std::to_string(field.view.columns) +
               " columns)";
      });
  m.def(
      "collide",
      [](const std::string& kind_a, nb::handle size_a, nb::handle pose_a, const std::string& kind_b, nb::handle size_b,
         nb::handle pose_b, double margin) {
        ContactPoint points[max_points];
        const int n = collide(find_shape(kind_a, size_a), find_placement("pose_a", pose_a), find_shape(kind_b, size_b),
                              find_placement("pose_b", pose_b), margin, points);
        return contact_arrays(points, n);
      },
      nb::arg("kind_a"), nb::arg("size_a"), nb::arg("pose_a"), nb::arg("kind_b"), nb::arg("size_b"), nb::arg("pose_b"),
      nb::arg("margin"),
      nb::sig("def collide(kind_a: str, size_a: Sequence[float] | ConvexHull | HeightField, pose_a: "
              "numpy.typing.ArrayLike, kind_b: str, size_b: Sequence[float] | ConvexHull | HeightField, pose_b: "
              "numpy.typing.ArrayLike, margin: float) -> tuple[numpy.typing.NDArray[numpy.float64], "
              "numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], "
              "numpy.typing.NDArray[numpy.uint32]]"),
      "Points closer than margin [m] of two shapes at poses (4, 4): position (k, 3), normal from B to A (k, 3), gap "
      "(k,), feature (k,).");
  testing.def(
      "shape_bounds",
      [](const std::string& kind, nb::handle size, nb::handle pose, double margin) {
        const Bounds box = bounds(find_shape(kind, size), find_placement("pose", pose), margin);
        NewArray out({2, 3}, 'd');
        for (int k = 0; k < 3; ++k) {
          static_cast<double*>(out.data())[k] = box.lower[k];
          static_cast<double*>(out.data())[3 + k] = box.upper[k];
        }
        return out.take();
      },
      nb::arg("kind"), nb::arg("size"), nb::arg("pose"), nb::arg("margin"),
      nb::sig("def shape_bounds(kind: str, size: Sequence[float] | ConvexHull | "
              "HeightField, pose: "
              "numpy.typing.ArrayLike, margin: float) -> numpy.typing.NDArray[numpy.float64]"),
      "Lower and upper corner of the box along the world's axes, (2, 3) [m].");
  testing.def(
      "sweep",
      [](const std::string& kind_a, nb::handle size_a, nb::handle pose_a, const std::vector<double>& velocity_a,
         const std::string& kind_b, nb::handle size_b, nb::handle pose_b, const std::vector<double>& velocity_b,
         double duration, double depth, bool circles) {
        const Shape a = find_shape(kind_a, size_a), b = find_shape(kind_b, size_b);
        const Moving motion_a = find_moving(a, find_placement("pose_a", pose_a), velocity_a, circles);
        const Moving motion_b = find_moving(b, find_placement("pose_b", pose_b), velocity_b, circles);
        const Meeting m = sweep(motion_a, motion_b, duration, 0, {0, 0.5 * depth, depth});
        nb::list poses;
        for (const Moving* moving : {&motion_a, &motion_b}) {
          const Placement<double> X = placed(*moving, m.passage == Passage::misses ? duration : m.time);
          NewArray out({4, 4}, 'd');
          double* const at = static_cast<double*>(out.data());
          for (int r = 0; r < 4; ++r)
            for (int c = 0; c < 4; ++c)
              at[4 * r + c] = r == 3 ? (c == 3 ? 1.0 : 0.0) : (c == 3 ? X.p[r] : X.R[3 * r + c]);
          poses.append(out.take());
        }
        constexpr const char* names[] = {"misses", "grazes", "hits"};
        return nb::make_tuple(names[static_cast<int>(m.passage)], m.time, poses);
      },
      nb::arg("kind_a"), nb::arg("size_a"), nb::arg("pose_a"), nb::arg("velocity_a"), nb::arg("kind_b"),
      nb::arg("size_b"), nb::arg("pose_b"), nb::arg("velocity_b"), nb::arg("duration"), nb::arg("depth"),
      nb::arg("circles") = false,
      nb::sig(
          "def sweep(kind_a: str, size_a: Sequence[float] | ConvexHull | HeightField, pose_a: "
          "numpy.typing.ArrayLike, velocity_a: Sequence[float], kind_b: str, size_b: Sequence[float] | ConvexHull | "
          "HeightField, pose_b: numpy.typing.ArrayLike, velocity_b: Sequence[float], duration: float, depth: float, "
          "circles: bool = False) -> tuple[str, float, list[numpy.typing.NDArray[numpy.float64]]]"),
      "How two shapes pass each other within the duration [s]: misses, grazes or hits, when, and their poses then (or "
      "at "
      "the end). velocities (6,), of the centres, linear and angular, world axes; depth [m]: of a graze; circles: "
      "linear "
      "velocities turn with the shapes.");
  testing.def(
      "broadphase",
      [](nb::handle boxes, const std::vector<std::uint32_t>& contype, const std::vector<std::uint32_t>& conaffinity,
         const std::vector<int>& group) {
        ArrayArgument corners("boxes", boxes);
        const int n = static_cast<int>(corners.batch({2, 3}));
        corners.require('d');
        for (std::size_t size : {contype.size(), conaffinity.size(), group.size()})
          if (static_cast<int>(size) != n)
            throw std::invalid_argument("contype, conaffinity, group: want one for each of the " + std::to_string(n) +
                                        " boxes, got " + std::to_string(size));
        std::vector<Bounds> list;
        for (int i = 0; i < n; ++i) list.push_back(find_bounds(corners.data<double>() + 6 * i));
        Broadphase phase;
        const int found = phase.find(list.data(), n, {contype.data(), conaffinity.data(), group.data()});
        nb::list pairs;
        for (int k = 0; k < found; ++k) pairs.append(nb::make_tuple(phase.pairs()[k].first, phase.pairs()[k].second));
        return pairs;
      },
      nb::arg("boxes"), nb::arg("contype"), nb::arg("conaffinity"), nb::arg("group"),
      nb::sig(
          "def broadphase(boxes: numpy.typing.ArrayLike, contype: Sequence[int], conaffinity: Sequence[int], group: "
          "Sequence[int]) -> list[tuple[int, int]]"),
      "Pairs of boxes (n, 2, 3) that overlap and may touch, in rising order.");
}

}  // namespace featherweight::bindings
