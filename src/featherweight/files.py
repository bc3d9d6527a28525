"""Reading a file, or saying why not; writing one so that it is never half of what it should be."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .errors import ModelImportError

if TYPE_CHECKING:
    import zipfile

MAX_BYTES = 100_000_000


def read(path: Path) -> bytes:
    """The content of the file at ``path``; raises :class:`ModelImportError` if it is not a file of sensible size."""
    try:
        if path.is_dir():
            raise ModelImportError("file", "is a directory", path)
        if not path.exists():
            raise ModelImportError("file", "does not exist", path)
        if not path.is_file():  # a pipe or a device would block or never end
            raise ModelImportError("file", "is not a regular file", path)
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise ModelImportError("file", f"has {size} bytes, more than the {MAX_BYTES} allowed", path)
        return path.read_bytes()
    except OSError as error:
        raise ModelImportError("file", f"cannot be read: {error.strerror}", path) from None
    except ValueError as error:
        if isinstance(error, ModelImportError):
            raise
        raise ModelImportError("file", f"cannot be read: {error}", path) from None  # a name with a zero byte


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to. It takes the place of the one at ``path`` when all of it is on the disk, and not before.

    Whatever happens on the way, an error, a full disk, a power cut, the old file stays as it was. A process that is
    killed may leave a file behind whose name starts with ``.featherweight-``. Links are followed, permissions are kept.
    What is not a regular file, a pipe or a device, cannot be replaced and is written to.
    """
    target = os.path.realpath(path)
    try:
        mode: int | None = os.stat(target).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with open(target, "wb") as file:
            yield file
        return
    folder = os.path.dirname(target)
    partial = os.path.join(folder, f".featherweight-{os.urandom(8).hex()}.partial")
    try:
        with _opened(partial, target) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(partial, stat.S_IMODE(mode))
        os.replace(partial, target)
    except BaseException:
        with suppress(OSError):  # what went wrong before is what matters
            os.unlink(partial)
        raise
    _sync_folder(folder)


def _opened(partial: str, target: str) -> IO[bytes]:
    try:
        return open(partial, "xb")
    except OSError as error:  # about the file that was asked for, not about its stand-in
        raise OSError(error.errno, f"cannot be written: {error.strerror}", target) from None


def _sync_folder(folder: str) -> None:
    """The new name survives a power cut, where folders can be synchronised at all."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# -- arrays ----------------------------------------------------------------------------------------------------------


def write_arrays(path: str | os.PathLike[str], arrays: dict[str, Any]) -> None:
    """An .npz file under exactly the name given."""
    with replacing(path) as file:
        np.savez(file, **arrays)


def read_arrays(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """The arrays of numbers in an .npz file that :func:`write_arrays` wrote; anything else raises a ValueError.

    Nothing is taken into memory that is not in the file: compressed files and sizes that are not true are refused.
    """
    name = os.fspath(path)
    if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe or a device would block or never end
        raise ValueError(f"{name}: is not a regular file")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        try:
            return _read_archive(file, size)
        except MemoryError:
            raise MemoryError(f"{name}: too large for the memory at hand") from None
        except Exception as error:  # whatever the readers of archives and arrays raise, it is about the file
            raise ValueError(f"{name}: not an .npz file of arrays: {error}") from None


def _read_archive(file: IO[bytes], size: int) -> dict[str, NDArray[Any]]:
    import zipfile  # not needed by most programs

    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > size:
            raise ValueError("it holds less than it claims, or is compressed")
        if len({member.filename for member in members}) < len(members):
            raise ValueError("two arrays have one name")
        return {_array_name(member): _read_array(archive, member) for member in members}


def _array_name(member: zipfile.ZipInfo) -> str:
    if not member.filename.endswith(".npy"):
        raise ValueError(f"{member.filename!r} is no array")
    return member.filename.removesuffix(".npy")


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        if version not in readers:
            raise ValueError(f"{member.filename!r} has an unknown version")
        shape, by_columns, dtype = readers[version](file)
        if dtype.kind not in "biuf":
            raise ValueError(f"{member.filename!r} holds {dtype}, not numbers")
        n_bytes = math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or file.tell() + n_bytes != member.file_size:
            raise ValueError(f"{member.filename!r} is not as long as it claims")
        array = np.frombuffer(bytearray(file.read(n_bytes)), dtype)
        return array.reshape(shape, order="F" if by_columns else "C")
