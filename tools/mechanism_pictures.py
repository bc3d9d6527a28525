"""Moving pictures of the mechanisms that come along, for docs/mechanisms.md: SVG files that play by themselves.

python -m tools.mechanism_pictures [names]

Some joints follow a path, and ``fw.close_loops`` finds the others. Every solid is drawn as seen from the side, or from
above the side if the mechanism does not move in a plane.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import featherweight as fw
from featherweight import Geometry
from featherweight.arrays import Array

IMAGES = Path(__file__).parents[1] / "docs" / "images"
FRAMES, SECONDS, PIXELS = 64, 4.0, 260


@dataclass(frozen=True)
class Film:
    """How joints move over a round (0 to 2 pi); the others follow."""

    driven: dict[str, Callable[[float], Array]]
    slant: float = 0.0  # how much of the depth is seen


def turn(phase: float = 0.0, swing: float = 0.0) -> Callable[[float], Array]:
    """A whole turn; or a swing to both sides [rad]."""
    return lambda t: np.array([swing * np.sin(t + phase) if swing else t + phase])


def tilt(t: float) -> Array:
    """A platform that goes round and leans."""
    lean = 0.12 * np.array([np.sin(t), np.cos(t), 0.0])
    turned = np.append(np.sin(lean / 2.0), 1.0)
    return np.concatenate([[0.06 * np.cos(t), 0.06 * np.sin(t), 0.5], turned / np.linalg.norm(turned)])


SIDES = ("left", "right")
FILMS = {
    "four_bar": Film({"crank_hinge": turn()}),
    "slider_crank": Film({"crank_hinge": turn()}),
    "n_four_bar": Film({"crank_0_hinge": turn(swing=1.2)}),
    "five_bar": Film({f"{side}_crank_hinge": turn(phase=k, swing=0.4) for k, side in enumerate(SIDES)}),
    "stewart": Film({"platform": tilt}, slant=0.35),
    "delta": Film({f"arm_{k + 1}": turn(phase=2.1 * k, swing=0.4) for k in range(3)}, slant=0.35),
    "loop_biped": Film(
        {
            "root_joint": lambda t: np.array([0.0, 0.0, 0.65, 0.0, 0.0, 0.0, 1.0]),
            **{f"{side}_hip_roll": lambda t: np.zeros(1) for side in SIDES},
            **{f"{side}_hip_pitch": turn(phase=np.pi * k, swing=0.5) for k, side in enumerate(SIDES)},
            **{f"{side}_crank": turn(phase=np.pi * k + 0.8, swing=0.4) for k, side in enumerate(SIDES)},
            **{f"{side}_horn": turn(phase=np.pi * k, swing=0.3) for k, side in enumerate(SIDES)},
        },
        slant=0.25,
    ),
}


def postures(model: fw.Model, film: Film) -> Array:
    """(frames, nq), closed, each found from the one before."""
    loops, q, found = list(fw.constraints_of(model)), np.array(model.q0), []
    path = [(model.joint(name).q_slice, along) for name, along in film.driven.items()]
    for t in np.linspace(0.0, 2.0 * np.pi, FRAMES + 1):
        for place, along in path:
            q[place] = along(t)
        closed = fw.close_loops(model, q, loops, fixed=list(film.driven))
        if not closed.converged:
            raise RuntimeError(f"{model.name}: the loops do not close at {t:.2f}")
        q = np.array(closed.q)
        found.append(q.copy())
    return np.array(found)


def outline(shape: Geometry) -> Array:
    """Points of a line along a solid, or around it, (n, 3) in its frame."""
    if shape.shape == "capsule":
        return np.array([[0.0, 0.0, -0.5 * shape.size[1]], [0.0, 0.0, 0.5 * shape.size[1]]])
    if shape.shape == "box":
        x, y, z = (0.5 * s for s in shape.size)
        corners = [(-x, -z), (x, -z), (x, z), (-x, z), (-x, -z)]
        return np.array([[a, y * (b > 0), b] for a, b in corners])
    angle = np.linspace(0.0, 2.0 * np.pi, 17)
    flat = shape.shape == "cylinder"
    return shape.size[0] * np.stack([np.cos(angle), np.sin(angle) * flat, np.sin(angle) * (not flat)], axis=-1)


def lines(model: fw.Model, film: Film) -> list[tuple[Array, float, str]]:
    """Of each solid: points over time (frames, n, 2) [m], thickness [m] and colour."""
    placed = fw.forward_kinematics(model, postures(model, film))
    drawn = []
    for k, link in enumerate(model.description.links):
        shapes = [shape for shape in link.geometries if shape.role == "visual"]
        points = [(outline(shape) @ shape.placement[:3, :3].T + shape.placement[:3, 3], shape) for shape in shapes]
        if not shapes and link.inertia is not None:  # rods that have a centre of mass only
            points = [
                (np.stack([np.zeros(3), 2.0 * link.inertia.com]), Geometry("rod", "visual", "capsule", (0.02, 1.0)))
            ]
        for local, shape in points:
            X = placed[:, k]
            world = local @ np.swapaxes(X[:, :3, :3], 1, 2) + X[:, None, :3, 3]
            seen = np.stack(
                [world[..., 0] + film.slant * world[..., 1], film.slant * world[..., 1] - world[..., 2]], axis=-1
            )
            thick = 2.0 * shape.size[0] if shape.shape == "capsule" else 0.008
            red, green, blue = (round(255 * c) for c in (shape.rgba or (0.3, 0.5, 0.7, 1.0))[:3])
            drawn.append((seen, thick, f"#{red:02x}{green:02x}{blue:02x}"))
    return drawn


def svg(model: fw.Model, film: Film) -> str:
    drawn = lines(model, film)
    everything = np.concatenate([seen.reshape(-1, 2) for seen, _, _ in drawn])
    low, size = everything.min(axis=0) - 0.04, np.ptp(everything, axis=0) + 0.08
    scale = PIXELS / size.max()
    width, height = np.ceil(scale * size).astype(int)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img">']
    parts.append(f"<title>{model.name}, moving</title>")
    for seen, thick, colour in drawn:
        frames = [" ".join(f"{x:.1f},{y:.1f}" for x, y in frame) for frame in scale * (seen - low)]
        style = f'fill="none" stroke="{colour}" stroke-width="{max(2.0, scale * thick):.1f}" stroke-linecap="round"'
        values = ";".join(frames)
        moves = f'<animate attributeName="points" dur="{SECONDS:g}s" repeatCount="indefinite" values="{values}"/>'
        parts.append(f'<polyline {style} stroke-linejoin="round" points="{frames[0]}">{moves}</polyline>')
    return "\n".join([*parts, "</svg>", ""])


def main(names: list[str]) -> None:
    for name in names or FILMS:
        model = fw.models.n_four_bar(4) if name == "n_four_bar" else getattr(fw.models, name)()
        file = IMAGES / f"mechanism_{name}.svg"
        file.write_text(svg(model, FILMS[name]))
        print(f"{file.name}: {file.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
