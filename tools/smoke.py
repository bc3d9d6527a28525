"""An installed wheel, tried as a newcomer would: ``python tools/smoke.py`` in an environment with nothing else in it.

Checks that it imports quickly, is small, computes, simulates and has its command. Knows nothing of the checkout.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

MOST_SECONDS, MOST_MEGABYTES = 0.3, 20.0


def main() -> None:
    numpy, whole = (min(_seconds(f"import {module}") for _ in range(5)) for module in ("numpy", "featherweight"))
    bare = min(_seconds("pass") for _ in range(5))
    print(f"import: {whole - bare:.3f} s of CPU time, {numpy - bare:.3f} s of it NumPy's (at most {MOST_SECONDS} s)")
    assert whole - bare <= MOST_SECONDS

    import numpy as np

    import featherweight as fw

    folder = Path(fw.__file__).parent
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and file.suffix != ".pyc") / 1e6
    print(f"installed: {size:.1f} MB (at most {MOST_MEGABYTES:g} MB)")
    assert size <= MOST_MEGABYTES

    began = time.perf_counter()
    model = fw.models.quadruped()
    page = fw.view(model, open_browser=False)
    tau = fw.gravity_forces(model, model.neutral())
    assert page.stat().st_size > 1e5 and tau.shape == (model.nv,)
    print(f"the README's first example: {time.perf_counter() - began:.2f} s")

    a = fw.aba(model, model.neutral(), np.zeros(model.nv), np.zeros(model.nv))
    assert abs(a[2] + 9.81) < 1e-12
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    ball = scene.add(fw.sphere(0.1), name="ball", pose=(0, 0, 0.5))
    sim = fw.Simulator(scene, dt=2e-3)
    began = time.perf_counter()
    final = sim.rollout(sim.state(), n_steps=500).final
    assert abs(final.q[2] - 0.1) < 1e-9 and final.converged
    print(f"{ball.name} at rest after {final.time:g} s, simulated in {time.perf_counter() - began:.3f} s")
    print(
        subprocess.run(
            [sys.executable, "-m", "featherweight", "doctor"], capture_output=True, text=True, check=True
        ).stdout
    )


def _seconds(code: str) -> float:
    """CPU time of a new interpreter that runs it."""
    measured = f"import time\n{code}\nprint(time.process_time())"
    return float(subprocess.run([sys.executable, "-c", measured], capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    main()
