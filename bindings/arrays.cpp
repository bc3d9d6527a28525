#include "arrays.hpp"

#include <nanobind/stl/string.h>

#include <stdexcept>

namespace featherweight::bindings {
namespace {

// Looked up once and kept for the life of the interpreter.
nb::handle numpy(const char* attribute) { return nb::object(nb::module_::import_("numpy").attr(attribute)).release(); }

std::string name_of_type(nb::handle value) {
  return nb::cast<std::string>(nb::str(nb::object(value.type().attr("__name__"))));
}

// numpy.asarray(value, dtype) after checking that the numbers can become dtype without surprises.
nb::object converted(const char* name, nb::handle value, char format) {
  static const nb::handle as_array = numpy("asarray"), masked = numpy("ma").attr("MaskedArray").inc_ref();
  if (nb::isinstance(value, masked))
    throw std::invalid_argument(std::string(name) + ": masked arrays are not supported, fill the masked entries first");
  nb::object array;
  try {
    array = as_array(value);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ValueError) && !error.matches(PyExc_TypeError)) throw;
    const std::string reason = nb::cast<std::string>(nb::str(error.value()));
    throw std::invalid_argument(std::string(name) + ": expected an array of numbers, got " + name_of_type(value) +
                                " (" + reason + ")");
  }
  const std::string kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  const std::size_t itemsize = nb::cast<std::size_t>(array.attr("dtype").attr("itemsize"));
  if ((kind != "f" && kind != "i" && kind != "u") || itemsize > 8)
    throw std::invalid_argument(std::string(name) +
                                ": expected an array of real numbers (float64 or float32), got dtype " +
                                nb::cast<std::string>(nb::str(nb::object(array.attr("dtype")))));
  return as_array(array, nb::arg("dtype") = format == 'f' ? "float32" : "float64", nb::arg("order") = "C");
}

char format_of(const Py_buffer& view) {
  const char* f = view.format;
  return f && f[0] && !f[1] && (f[0] == 'd' || f[0] == 'f') ? f[0] : '\0';
}

}  // namespace

ArrayArgument::ArrayArgument(const char* name, nb::handle value) : name_(name) { acquire(value); }
ArrayArgument::~ArrayArgument() { release(); }

void ArrayArgument::release() {
  if (acquired_) PyBuffer_Release(&view_);
  acquired_ = false;
}

void ArrayArgument::acquire(nb::handle value) {
  static const nb::handle ndarray = numpy("ndarray");  // exactly: subclasses may mean something else by their data
  if (!value.type().is(ndarray)) {
    // lists, scalars, other kinds of arrays
  } else if (PyObject_GetBuffer(value.ptr(), &view_, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) == 0) {
    acquired_ = true;
    format_ = format_of(view_);
    // an unaligned buffer is legal for Python but not for us
    if (format_ && reinterpret_cast<std::size_t>(view_.buf) % static_cast<std::size_t>(view_.itemsize) == 0) return;
    release();
  } else {
    PyErr_Clear();
  }
  owner_ = converted(name_, value, 'd');
  if (PyObject_GetBuffer(owner_.ptr(), &view_, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) throw nb::python_error();
  acquired_ = true;
  format_ = 'd';
}

void ArrayArgument::require(char format) {
  if (!acquired_ || format_ == format) return;
  const nb::object source = nb::borrow(view_.obj);
  nb::object other = converted(name_, source, format);
  release();
  owner_ = std::move(other);
  if (PyObject_GetBuffer(owner_.ptr(), &view_, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) throw nb::python_error();
  acquired_ = true;
  format_ = format;
}

std::string ArrayArgument::shape_text() const {
  std::string text = "(";
  for (int k = 0; k < view_.ndim; ++k) text += (k ? ", " : "") + std::to_string(view_.shape[k]);
  return text + (view_.ndim == 1 ? ",)" : ")");
}

std::size_t ArrayArgument::batch(std::initializer_list<std::ptrdiff_t> sample) const {
  const int n = static_cast<int>(sample.size());
  bool fits = view_.ndim == n || view_.ndim == n + 1;
  if (fits) {
    int k = view_.ndim - n;
    for (std::ptrdiff_t size : sample) fits = fits && view_.shape[k++] == size;
  }
  if (!fits) {
    std::string wanted;
    for (std::ptrdiff_t size : sample) wanted += (wanted.empty() ? "" : ", ") + std::to_string(size);
    throw std::invalid_argument(std::string(name_) + ": expected shape (" + wanted + (n == 1 ? ",)" : ")") +
                                " or (batch, " + wanted + "), got " + shape_text());
  }
  if (view_.ndim == n) return 0;
  if (view_.shape[0] == 0)
    throw std::invalid_argument(std::string(name_) + ": the batch is empty, got shape " + shape_text());
  return static_cast<std::size_t>(view_.shape[0]);
}

ArrayArgument optional(const char* name, nb::handle value) {
  return value.is_none() ? ArrayArgument() : ArrayArgument(name, value);
}

NewArray::NewArray(const std::vector<std::size_t>& shape, char format) : scalar_(shape.empty()) {
  static const nb::handle empty = numpy("empty"), float64 = numpy("float64"), float32 = numpy("float32");
  const nb::handle dtype = format == 'f' ? float32 : float64;
  if (shape.size() == 1) {
    array_ = empty(shape[0], dtype);
  } else {
    nb::list sizes;
    for (std::size_t size : shape) sizes.append(size);
    array_ = empty(nb::tuple(sizes), dtype);
  }
  if (PyObject_GetBuffer(array_.ptr(), &view_, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) != 0) throw nb::python_error();
}
NewArray::~NewArray() {
  if (view_.obj) PyBuffer_Release(&view_);
}

nb::object NewArray::take() {
  PyBuffer_Release(&view_);
  view_.obj = nullptr;
  if (!scalar_) return std::move(array_);
  return array_[nb::tuple()];
}

}  // namespace featherweight::bindings
