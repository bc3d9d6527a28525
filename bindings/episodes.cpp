// bindings/episodes.cpp -- what batches of learning environments keep beside the physics, between two rollouts: actions
// become controls, columns of coordinates become observations and ends, episodes start, and each environment has random
// numbers.
//
// Terms that only pick columns are read here, all in one pass; every other term is a function in Python. Oracle: the
// same terms in NumPy (tests/gym/test_columns.py).
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"

namespace featherweight::bindings {
namespace {

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Streams = Vector<std::uint64_t>;                   // of all environments
using Rows = std::optional<Vector<const std::int64_t>>;  // some environments; none: all of them

void require(bool holds, const char* otherwise) {
  if (!holds) throw std::invalid_argument(otherwise);
}

// Which environments are meant: number k of `size` is at(k) of `n`.
class Chosen {
 public:
  Chosen(const Rows& rows, std::size_t n) : rows_(rows ? rows->data() : nullptr), size_(rows ? rows->shape(0) : n) {
    for (std::size_t k = 0; rows_ && k < size_; ++k)
      require(rows_[k] >= 0 && rows_[k] < static_cast<std::int64_t>(n), "rows: no such environment");
  }
  std::size_t size() const { return size_; }
  // use(k, at(k)) for all.
  template <class Use>
  void each(const Use& use) const {
    if (rows_)
      for (std::size_t k = 0; k < size_; ++k) use(k, static_cast<std::size_t>(rows_[k]));
    else
      for (std::size_t k = 0; k < size_; ++k) use(k, k);
  }
  std::size_t at(std::size_t k) const { return rows_ ? static_cast<std::size_t>(rows_[k]) : k; }

 private:
  const std::int64_t* rows_;
  std::size_t size_;
};

// The next number of a stream, from 0 to 1: SplitMix64.
double unit(std::uint64_t& state) {
  std::uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

double between(double low, double high, std::uint64_t& state) { return low + (high - low) * unit(state); }

double clip(double x, double low, double high) { return std::min(std::max(x, low), high); }

void draw(Streams streams, Rows rows, Matrix<double> out) {
  const Chosen chosen(rows, streams.shape(0));
  require(out.shape(0) == chosen.size(), "draw: expected a row for each environment");
  for (std::size_t k = 0; k < chosen.size(); ++k)
    for (std::size_t j = 0; j < out.shape(1); ++j)
      out.data()[k * out.shape(1) + j] = unit(streams.data()[chosen.at(k)]);
}

// Columns of arrays with a row for each environment: scale * (value - offset + noise).
class Columns {
 public:
  void add(Matrix<const double> values, std::vector<std::int64_t> columns, std::vector<double> offsets, double scale,
           double noise) {
    require(columns.size() == offsets.size(), "columns: expected an offset for each");
    require(blocks_.empty() || values.shape(0) == blocks_[0].values.shape(0), "columns: of batches that differ");
    for (std::int64_t column : columns)
      require(column >= 0 && column < static_cast<std::int64_t>(values.shape(1)), "columns: there is no such column");
    width_ += columns.size();
    blocks_.push_back({std::move(values), std::move(columns), std::move(offsets), scale, noise});
  }

  // Into columns `first` and on of out, within +-bound.
  void read(Streams streams, Rows rows, Matrix<float> out, std::size_t first, float bound) const {
    const Chosen chosen(rows, batch());
    require(out.shape(0) == chosen.size() && streams.shape(0) == batch() && first + width_ <= out.shape(1),
            "columns: do not fit into the array");
    const std::size_t width = out.shape(1);
    float* to = out.data() + first;
    each(
        chosen, streams,
        [&](std::size_t k, double x) {
          const float value = static_cast<float>(x);
          to[k * width] = value < -bound ? -bound : value > bound ? bound : value;
        },
        [&] { ++to; });
  }

  // Sets the flags of rows of which some column is not between low and high; others stay.
  void mark_outside(Streams streams, Rows rows, double low, double high, Vector<bool> flags) const {
    const Chosen chosen(rows, batch());
    require(flags.shape(0) == chosen.size() && streams.shape(0) == batch(), "columns: expected a flag for each row");
    bool* marks = flags.data();
    each(chosen, streams, [&](std::size_t k, double x) { marks[k] |= (x < low) | (x > high); }, [] {});
  }

  std::size_t width() const { return width_; }

 private:
  struct Block {
    Matrix<const double> values;
    std::vector<std::int64_t> columns;
    std::vector<double> offsets;
    double scale, noise;
  };
  std::size_t batch() const { return blocks_.empty() ? 0 : blocks_[0].values.shape(0); }

  // use(k, value) for all rows of one column after the other; a stream gives its numbers in the order of columns.
  template <class Use, class Next>
  void each(const Chosen& chosen, const Streams& streams, const Use& use, const Next& next) const {
    for (const Block& block : blocks_)
      for (std::size_t j = 0; j < block.columns.size(); ++j, next()) {
        const double *x = block.values.data() + block.columns[j], offset = block.offsets[j], scale = block.scale;
        const std::size_t stride = block.values.shape(1);
        const double noise = block.noise;
        if (noise != 0)
          chosen.each([&](std::size_t k, std::size_t e) {
            use(k, scale * (x[e * stride] - offset + between(-noise, noise, streams.data()[e])));
          });
        else
          chosen.each([&](std::size_t k, std::size_t e) { use(k, scale * (x[e * stride] - offset)); });
      }
  }

  std::vector<Block> blocks_;
  std::size_t width_ = 0;
};

// How one column of the control follows from one of the action: clip((keeps ? control : center) + scale action, low,
// high).
struct Rule {
  std::size_t control, action;
  bool keeps;
  double center, scale, low, high;
};

// The actions of a batch, and the controls and times that belong to them.
class Controls {
 public:
  Controls(Vector<std::int64_t> steps, Matrix<double> action, Matrix<double> previous, Matrix<double> control,
           Matrix<double> sent, Vector<const double> center, Matrix<const double> range)
      : steps_(steps),
        action_(action),
        previous_(previous),
        control_(control),
        sent_(sent),
        center_(center),
        range_(range) {
    const std::size_t n = steps.shape(0), nu = control.shape(1);
    require(action.shape(0) == n && previous.shape(0) == n && control.shape(0) == n && sent.shape(0) == n,
            "controls: arrays of batches that differ");
    require(previous.shape(1) == action.shape(1), "controls: actions of two lengths");
    require(center.shape(0) == nu && sent.shape(1) == nu && range.shape(0) == 2 && range.shape(1) == nu,
            "controls: expected a center and a range for each");
  }

  void add_rule(std::size_t control, std::size_t action, bool keeps, double center, double scale, double low,
                double high) {
    require(control < control_.shape(1) && action < action_.shape(1), "controls: there is no such column");
    rules_.push_back({control, action, keeps, center, scale, low, high});
  }

  // The next action of all environments, clipped to +-1, and what follows; -1, or where a number is not finite.
  template <class T>
  std::ptrdiff_t take(Matrix<const T> actions) {
    const std::size_t n = action_.shape(0), width = action_.shape(1);
    require(actions.shape(0) == n && actions.shape(1) == width, "actions: of another shape");
    bool finite = true;
    for (std::size_t k = 0; k < n * width; ++k) finite &= std::isfinite(actions.data()[k]);
    for (std::size_t k = 0; !finite && k < n * width; ++k)
      if (!std::isfinite(actions.data()[k])) return static_cast<std::ptrdiff_t>(k);
    for (std::size_t k = 0; k < n * width; ++k) {
      previous_.data()[k] = action_.data()[k];
      action_.data()[k] = clip(static_cast<double>(actions.data()[k]), -1, 1);
    }
    for (std::size_t e = 0; e < n; ++e) {
      double* control = control_.data() + e * control_.shape(1);
      for (const Rule& rule : rules_) {
        const double from = rule.keeps ? control[rule.control] : rule.center;
        control[rule.control] = clip(from + rule.scale * action_.data()[e * width + rule.action], rule.low, rule.high);
      }
    }
    return -1;
  }

  // What drives the actuators: controls within their range.
  void send() {
    const std::size_t nu = control_.shape(1);
    const double *low = range_.data(), *high = low + nu;
    for (std::size_t e = 0; e < control_.shape(0); ++e)
      for (std::size_t k = 0; k < nu; ++k)
        sent_.data()[e * nu + k] = clip(control_.data()[e * nu + k], low[k], high[k]);
  }

  // Environments `rows` as before the first action.
  void start(Vector<const std::int64_t> rows) {
    const Chosen chosen(rows, steps_.shape(0));
    const std::size_t width = action_.shape(1), nu = control_.shape(1);
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      const std::size_t e = chosen.at(k);
      steps_.data()[e] = 0;
      std::fill_n(action_.data() + e * width, width, 0.0);
      std::fill_n(previous_.data() + e * width, width, 0.0);
      std::copy_n(center_.data(), nu, control_.data() + e * nu);
    }
  }

 private:
  Vector<std::int64_t> steps_;
  Matrix<double> action_, previous_, control_, sent_;
  Vector<const double> center_;
  Matrix<const double> range_;
  std::vector<Rule> rules_;
};

// Positions of joints moved by up to `position`, within limits, then their velocities changed by up to `velocity`.
void scatter(Streams streams, Rows rows, Matrix<double> q, Matrix<double> v, Vector<const std::int64_t> coordinates,
             Vector<const std::int64_t> dofs, Vector<const double> lower, Vector<const double> upper, double position,
             double velocity) {
  const Chosen chosen(rows, streams.shape(0));
  const auto within = [](const Vector<const std::int64_t>& columns, std::size_t n) {
    return std::all_of(columns.data(), columns.data() + columns.shape(0),
                       [&](std::int64_t c) { return c >= 0 && c < static_cast<std::int64_t>(n); });
  };
  require(q.shape(0) == chosen.size() && v.shape(0) == chosen.size() && within(coordinates, q.shape(1)) &&
              within(dofs, v.shape(1)) && lower.shape(0) == q.shape(1) && upper.shape(0) == q.shape(1),
          "scatter: the arrays do not fit together");
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    std::uint64_t& stream = streams.data()[chosen.at(k)];
    for (std::size_t j = 0; j < coordinates.shape(0); ++j) {
      const std::int64_t c = coordinates.data()[j];
      double& x = q.data()[k * q.shape(1) + c];
      x = clip(x + between(-position, position, stream), lower.data()[c], upper.data()[c]);
    }
    for (std::size_t j = 0; j < dofs.shape(0); ++j)
      v.data()[k * v.shape(1) + dofs.data()[j]] += between(-velocity, velocity, stream);
  }
}

}  // namespace

void bind_episodes(nb::module_& m) {
  m.def("draw", &draw, nb::arg("streams"), nb::arg("rows").none(), nb::arg("out"),
        "The next numbers of streams, from 0 to 1, into (rows, k).");
  m.def("scatter", &scatter, nb::arg("streams"), nb::arg("rows").none(), nb::arg("q"), nb::arg("v"),
        nb::arg("coordinates"), nb::arg("dofs"), nb::arg("lower"), nb::arg("upper"), nb::arg("position"),
        nb::arg("velocity"), "Moves coordinates of q (rows, nq) at random, within limits, and changes velocities.");
  nb::class_<Columns>(m, "Columns")
      .def(nb::init<>())
      .def("add", &Columns::add, nb::arg("values"), nb::arg("columns"), nb::arg("offsets"), nb::arg("scale"),
           nb::arg("noise"))
      .def("read", &Columns::read, nb::arg("streams"), nb::arg("rows").none(), nb::arg("out"), nb::arg("first"),
           nb::arg("bound"))
      .def("mark_outside", &Columns::mark_outside, nb::arg("streams"), nb::arg("rows").none(), nb::arg("low"),
           nb::arg("high"), nb::arg("flags"))
      .def_prop_ro("width", &Columns::width);
  nb::class_<Controls>(m, "Controls")
      .def(nb::init<Vector<std::int64_t>, Matrix<double>, Matrix<double>, Matrix<double>, Matrix<double>,
                    Vector<const double>, Matrix<const double>>(),
           nb::arg("steps"), nb::arg("action"), nb::arg("previous"), nb::arg("control"), nb::arg("sent"),
           nb::arg("center"), nb::arg("range"))
      .def("add_rule", &Controls::add_rule, nb::arg("control"), nb::arg("action"), nb::arg("keeps"), nb::arg("center"),
           nb::arg("scale"), nb::arg("low"), nb::arg("high"))
      .def("take", &Controls::take<float>, nb::arg("actions").noconvert())
      .def("take", &Controls::take<double>, nb::arg("actions"))
      .def("send", &Controls::send)
      .def("start", &Controls::start, nb::arg("rows"));
}

}  // namespace featherweight::bindings
