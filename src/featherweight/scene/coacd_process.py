"""CoACD in a process of its own: it carries a C++ runtime with which libraries that are loaded after it, Pinocchio for
one, read no numbers any more, and it can be interrupted there at any time.

Run as a script: reads the arrays "vertices", "faces" and "threshold" from its input, writes the corners of the pieces
as "piece_0" and so on to its output, both as .npz files.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray


def cut(vertices: NDArray[np.float64], faces: NDArray[np.int32], threshold: float) -> list[NDArray[np.float64]]:
    """Corners of convex pieces; RuntimeError with what CoACD said if it fails."""
    import subprocess  # slow to import, and few need it

    given = io.BytesIO()
    np.savez(given, vertices=vertices, faces=faces, threshold=threshold)
    done = subprocess.run([sys.executable, __file__], input=given.getvalue(), capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise RuntimeError(f"CoACD failed with code {done.returncode}" + (f": {said[-1]}" if said else ""))
    with np.load(io.BytesIO(done.stdout), allow_pickle=False) as found:
        return [np.array(found[f"piece_{k}"]) for k in range(len(found.files))]


def _main() -> None:
    # CoACD may print: the output is kept for the pieces.
    output = os.dup(1)
    os.dup2(2, 1)
    import coacd

    with np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False) as given:
        mesh = coacd.Mesh(given["vertices"], given["faces"])
        threshold = float(given["threshold"])
    coacd.set_log_level("error")
    found = coacd.run_coacd(mesh, threshold=threshold, seed=0)
    pieces = io.BytesIO()
    arrays: dict[str, Any] = {
        f"piece_{k}": np.asarray(corners, dtype=np.float64) for k, (corners, _) in enumerate(found)
    }
    np.savez(pieces, **arrays)
    with open(output, "wb") as opened:
        opened.write(pieces.getvalue())


if __name__ == "__main__":
    _main()
