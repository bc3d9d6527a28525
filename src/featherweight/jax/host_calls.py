"""Functions of NumPy inside compiled programs of JAX, through XLA's interface for foreign functions.

``jax.pure_callback`` makes arrays of JAX of all that it passes on, which takes some 60 microseconds a call. XLA itself
hands out addresses. So one handler is registered with it, which looks up the Python function that a call names, and
shows it inputs and outputs where they lie: nothing is copied. docs/adr/0044 has the times.

The records below are XLA's, version 0 of its interface (``jax.ffi.include_dir()``); each begins with its size, which is
checked before anything else is read.
"""

from __future__ import annotations

import ctypes
import traceback
from collections.abc import Callable, Sequence
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_void_p
from functools import cache
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

#: Takes inputs and outputs; fills in the outputs.
HostFunction = Callable[[Sequence[NDArray[Any]], Sequence[NDArray[Any]]], None]

_TARGET = "featherweight_call"
_VERSION = (0, 1)  # of the interface: what is used has been there from the start
_EXECUTE = 3  # the stage
_METADATA = 1  # the extension
_INTERNAL = 13  # the error
_DTYPES = {11: np.float32, 12: np.float64}

_functions: list[HostFunction] = []


class _Extension(ctypes.Structure):
    pass


_Extension._fields_ = [("struct_size", c_size_t), ("type", c_int), ("next", POINTER(_Extension))]
_HEAD: list[tuple[str, Any]] = [("struct_size", c_size_t), ("extension", POINTER(_Extension))]


class _Version(ctypes.Structure):
    _fields_ = [*_HEAD, ("major", c_int), ("minor", c_int)]


class _Metadata(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("api_version", _Version), ("traits", c_uint32)]


class _MetadataExtension(ctypes.Structure):
    _fields_ = [("base", _Extension), ("metadata", POINTER(_Metadata))]


class _ErrorArguments(ctypes.Structure):
    _fields_ = [*_HEAD, ("message", c_char_p), ("code", c_int)]


class _Api(ctypes.Structure):
    _fields_ = [
        *_HEAD,
        ("version", _Version),
        ("internal", c_void_p),
        ("create_error", ctypes.CFUNCTYPE(c_void_p, POINTER(_ErrorArguments))),
    ]


class _Buffer(ctypes.Structure):
    _fields_ = [*_HEAD, ("dtype", c_int), ("data", c_void_p), ("rank", c_int64), ("dims", POINTER(c_int64))]


class _Scalar(ctypes.Structure):
    _fields_ = [("dtype", c_int), ("value", POINTER(c_int64))]


class _Buffers(ctypes.Structure):  # of arguments and of results
    _fields_ = [*_HEAD, ("size", c_int64), ("types", c_void_p), ("values", POINTER(POINTER(_Buffer)))]


class _Attributes(ctypes.Structure):
    _fields_ = [
        *_HEAD,
        ("size", c_int64),
        ("types", c_void_p),
        ("names", c_void_p),
        ("values", POINTER(POINTER(_Scalar))),
    ]


class _CallFrame(ctypes.Structure):
    _fields_ = [
        *_HEAD,
        ("api", POINTER(_Api)),
        ("context", c_void_p),
        ("stage", c_int),
        ("args", _Buffers),
        ("rets", _Buffers),
        ("attributes", _Attributes),
    ]


def _fits(record: Any) -> bool:
    """Whether XLA's record has all that ours has."""
    return bool(record.struct_size >= ctypes.sizeof(type(record)))


def _view(buffer: Any) -> NDArray[Any]:
    dtype = np.dtype(_DTYPES[buffer.dtype])
    shape = tuple(buffer.dims[: buffer.rank])
    count = int(np.prod(shape, dtype=np.int64))
    if count == 0:  # there may be no address
        return np.empty(shape, dtype)
    memory = (ctypes.c_byte * (count * dtype.itemsize)).from_address(buffer.data)
    array: NDArray[Any] = np.frombuffer(memoryview(memory).cast("B"), dtype).reshape(shape)
    return array


def _views(buffers: Any) -> list[NDArray[Any]]:
    return [_view(buffers.values[k].contents) for k in range(buffers.size)]


def _call(frame: Any) -> None:
    if not (_fits(frame.args) and _fits(frame.rets) and _fits(frame.attributes) and frame.attributes.size == 1):
        raise RuntimeError("this version of jaxlib passes arguments in a way that featherweight does not know")
    function = _functions[frame.attributes.values[0].contents.value.contents.value]
    function(_views(frame.args), _views(frame.rets))


def _handle(at: Any) -> Any:
    frame = at.contents
    if frame.extension and frame.extension.contents.type == _METADATA:  # asked for what it is, not to do anything
        extension = ctypes.cast(frame.extension, POINTER(_MetadataExtension)).contents
        version = extension.metadata.contents.api_version
        version.major, version.minor = _VERSION
        extension.metadata.contents.traits = 0
        return None
    if frame.stage != _EXECUTE:
        return None
    try:
        _call(frame)
    except BaseException as error:
        message = "".join(traceback.format_exception_only(error)).strip().encode()
        arguments = _ErrorArguments(ctypes.sizeof(_ErrorArguments), None, message, _INTERNAL)
        return frame.api.contents.create_error(ctypes.byref(arguments))
    return None


_handler = ctypes.CFUNCTYPE(c_void_p, POINTER(_CallFrame))(_handle)


@cache
def _register() -> None:
    jax.ffi.register_ffi_target(_TARGET, jax.ffi.pycapsule(_handler), platform="cpu")


def register(function: HostFunction) -> int:
    """The number under which :func:`call` finds it, for as long as the process lives: compiled programs hold it."""
    _functions.append(function)
    return len(_functions) - 1


def call(number: int, results: Sequence[jax.ShapeDtypeStruct], arguments: Sequence[Any]) -> list[jax.Array]:
    """What the function fills in, traced or at once. Under ``jax.vmap`` all arrays get a leading dimension."""
    _register()
    run = jax.ffi.ffi_call(_TARGET, list(results), vmap_method="broadcast_all")
    return list(run(*arguments, function=np.int64(number)))
