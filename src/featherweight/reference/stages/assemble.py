"""Stage 2, assemble: sigma = G lambda + g of all rows, G = J H^-1 J^T + compliance, g = J v_free + shift."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from featherweight.arrays import Array
from featherweight.reference.contact.laws import ConeBlock
from featherweight.reference.stages.closure_rows import closure_rows, dependent, openings
from featherweight.reference.stages.contact_rows import contact_rows
from featherweight.reference.stages.guide_rows import aims, guided, softness
from featherweight.reference.stages.joint_rows import joint_rows
from featherweight.reference.stages.predict import FreeMotion
from featherweight.reference.stages.rows import RowBlock
from featherweight.reference.stages.scene import ContactPoint, StepScene


@dataclass(frozen=True, eq=False)
class StepProblem:
    """The cone problem of a step: m rows of closures, joints and contacts, in that order."""

    J: Array  # (m, nv)
    G: Array  # (m, m)
    g: Array  # (m,)
    laws: list[ConeBlock]
    velocity: Array  # (m,) J v_free [m/s]
    compliance: Array  # (m,)
    gap: Array  # (m,) what is left to close, or the error of a closure; nan: none
    blocks: list[RowBlock]  # what the rows are of
    scale: float  # [m/s] what tolerances are relative to
    fall: float  # [m/s] what gravity adds in a step
    dt: float  # [s]

    def where(self, test: Sequence[bool]) -> NDArray[np.bool_]:
        """(m,) a mask of the rows of those blocks."""
        rows = [block.law.rows for block in self.blocks]
        return np.repeat(np.asarray(test, dtype=bool), rows)


def assemble(
    scene: StepScene, free: FreeMotion, contacts: Sequence[ContactPoint], v_end: Array | None = None
) -> StepProblem:
    """v_end: (nv,) velocities along which closures must not open; those at the start of the step unless given."""
    blocks = [own for each in scene.closures for own in closure_rows(scene.model, free.bodies, each)]
    blocks = _held(scene, free, blocks, openings(scene, free, free.v if v_end is None else v_end))
    blocks += joint_rows(scene, free)
    for contact in contacts:
        blocks += contact_rows(scene, free, contact, sum(block.law.rows for block in blocks))

    def stack(field: str) -> Array:
        values = [np.broadcast_to(getattr(block, field), block.law.rows) for block in blocks]
        return np.concatenate([np.zeros(0), *values])

    J = np.vstack([np.zeros((0, len(free.v))), *(block.J for block in blocks)])
    velocity, compliance = J @ free.v_free, stack("compliance")
    G = J @ free.response(J)
    fall = scene.dt * float(np.linalg.norm(scene.model.gravity))
    return StepProblem(
        J=J,
        G=(G + G.T) / 2 + np.diag(compliance),
        g=velocity + stack("shift"),
        laws=[block.law for block in blocks],
        velocity=velocity,
        compliance=compliance,
        gap=stack("gap"),
        blocks=blocks,
        scale=max(fall or scene.dt, float(np.abs(velocity).max(initial=0.0))),
        fall=fall,
        dt=scene.dt,
    )


def _held(scene: StepScene, free: FreeMotion, blocks: list[RowBlock], opening: Array) -> list[RowBlock]:
    """Rows of closures with what they open as their shift; those that depend on others do nothing."""
    if not blocks:
        return blocks
    J, soft, shift, is_guided = np.vstack([b.J for b in blocks]), softness(scene), opening, guided(scene)
    if is_guided.any():
        shift = opening - aims(scene, free)
    idle = dependent(scene, J @ free.response(J), soft)
    result, row = [], 0
    for block in blocks:
        at = slice(row, row := row + block.law.rows)
        result.append(
            replace(
                block,
                J=np.where(idle[at, None], 0.0, block.J),
                shift=np.where(idle[at], 0.0, shift[at]),
                compliance=np.where(idle[at], 1.0, soft[at]),
                gap=np.where(idle[at], np.nan, np.where(is_guided[at], 0.0, block.gap)),
            )
        )
    return result
