"""Reading a file, or saying why not."""

from __future__ import annotations

from pathlib import Path

from .errors import ModelImportError

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
