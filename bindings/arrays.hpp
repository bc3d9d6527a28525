// bindings/arrays.hpp -- NumPy arrays in and out, at a cost that does not show for a single sample.
//
// Arguments come through the buffer protocol (50 ns each); lists, other dtypes and strided arrays take a detour through
// numpy.asarray. All arguments float32: the call runs in float32; otherwise in float64.
#pragma once
#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

namespace featherweight::bindings {

namespace nb = nanobind;

// One argument: (shape) for a single sample, (batch, shape) for many.
class ArrayArgument {
 public:
  ArrayArgument() = default;
  ArrayArgument(const char* name, nb::handle value);
  ~ArrayArgument();
  ArrayArgument(const ArrayArgument&) = delete;
  ArrayArgument& operator=(const ArrayArgument&) = delete;

  const char* name() const { return name_; }
  bool given() const { return acquired_; }
  bool single_precision() const { return format_ == 'f'; }
  // Checks the shape of a sample, returns the batch size, 0 for a single sample.
  std::size_t batch(std::initializer_list<std::ptrdiff_t> sample) const;
  // Converts unless the argument already is of this precision.
  void require(char format);
  template <class T>
  const T* data() const {
    return static_cast<const T*>(view_.buf);
  }

 private:
  void acquire(nb::handle value);
  void release();
  std::string shape_text() const;

  const char* name_ = "";
  bool acquired_ = false;
  char format_ = 'd';
  nb::object owner_;
  Py_buffer view_{};
};

// None stands for "not given".
ArrayArgument optional(const char* name, nb::handle value);

// A new array, uninitialised.
class NewArray {
 public:
  NewArray(const std::vector<std::size_t>& shape, char format);
  ~NewArray();
  NewArray(const NewArray&) = delete;
  NewArray& operator=(const NewArray&) = delete;

  void* data() const { return view_.buf; }
  nb::object take();  // scalars for shape ()

 private:
  bool scalar_;
  nb::object array_;
  Py_buffer view_{};
};

}  // namespace featherweight::bindings
