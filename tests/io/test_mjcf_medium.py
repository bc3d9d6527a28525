"""Fluids of MJCF files: forces are MuJoCo's own, in files with boxes and with ellipsoids, with and without wind."""

from __future__ import annotations

import numpy as np
import pytest

import featherweight as fw
from featherweight.arrays import Array
from featherweight.model.drag import fluid_shapes
from featherweight.reference.stages.bodies import medium_forces, place

mujoco = pytest.importorskip("mujoco")

GEOMS = {
    "sphere": 'type="sphere" size="0.1"',
    "capsule": 'type="capsule" size="0.05 0.2"',
    "cylinder": 'type="cylinder" size="0.08 0.15"',
    "ellipsoid": 'type="ellipsoid" size="0.1 0.2 0.05"',
    "box": 'type="box" size="0.1 0.03 0.2"',
    "small ellipsoid": 'type="ellipsoid" size="0.004 0.008 0.002"',
}
FLUIDS = {
    "air": 'density="1.2" viscosity="1.8e-5"',
    "water in a river": 'density="1000" viscosity="9e-4" wind="0.5 -0.3 0.2"',
    "honey": 'viscosity="10"',
    "no friction": 'density="800" wind="0 1 0"',
}


def chain(geom: str, fluid: str, seen: str) -> str:
    """Two bodies on a hinge and a slide, with a third one welded to the last, away from its joints."""
    return f"""<mujoco><option gravity="0 0 0" {fluid} integrator="RK4" timestep="0.002"/><worldbody>
<body euler="20 30 40"><joint axis="1 2 3"/><geom {geom} pos="0.1 0.2 0" euler="10 50 20" {seen}/>
<body pos="0.3 0 0"><joint type="slide" axis="0 1 1"/><joint axis="0 0 1"/><geom {geom} euler="0 70 20" {seen}/>
<geom {geom} pos="0 0.2 0.1"/><body pos="0 0 0.4" euler="0 40 0"><geom {geom} {seen} fluidcoef="0.4 0.3 1.2 0.9 0.7"/>
</body></body></body></worldbody></mujoco>"""


def in_joints(model: fw.Model, q: Array, v: Array) -> Array:
    """The forces of the medium on links, by the twin, seen by the degrees of freedom."""
    bodies = place(model.description, q)
    forces = medium_forces(model.description, bodies, v, None)
    assert forces is not None
    return np.asarray(sum(J.T @ f for J, f in zip(bodies.jacobians, forces, strict=False)))


@pytest.mark.parametrize("seen", ["", 'fluidshape="ellipsoid"'], ids=["boxes", "ellipsoids"])
@pytest.mark.parametrize("fluid", FLUIDS)
@pytest.mark.parametrize("geom", GEOMS)
def test_forces_are_those_of_mujoco(geom: str, fluid: str, seen: str) -> None:
    """The core beside MuJoCo: one step of the same method, in the same coordinates; the twin: the forces."""
    text = chain(GEOMS[geom], FLUIDS[fluid], seen)
    m, model = mujoco.MjModel.from_xml_string(text), fw.loads(text, "mjcf", strict=True)
    data, rng = mujoco.MjData(m), np.random.default_rng(1)
    sim = fw.Simulator(_untouched(model), dt=m.opt.timestep, integrator="rk4")
    for _ in range(5):
        data.qpos[:], data.qvel[:] = rng.normal(size=3), 0.3 * rng.normal(size=3)
        q, v = data.qpos.copy(), data.qvel.copy()
        mujoco.mj_forward(m, data)
        expected = data.qfrc_passive.copy()
        assert np.abs(expected).max() > 0
        assert np.abs(in_joints(model, q, v) - expected).max() <= 1e-11 * np.abs(expected).max()
        mujoco.mj_step(m, data)
        change = np.abs(data.qvel - v).max()
        assert np.abs(sim.step(sim.state(q=q, v=v)).v - data.qvel).max() <= 1e-9 * change


def _untouched(model: fw.Model) -> fw.Scene:
    scene = fw.Scene(gravity=model.gravity, medium=model.description.medium)
    scene.add(model, self_collision=False)
    return scene


@pytest.mark.parametrize("seen", ["", 'fluidshape="ellipsoid"'], ids=["boxes", "ellipsoids"])
def test_a_body_swims_as_in_mujoco(seen: str) -> None:
    """Half a second of a free body; both are first order, so that they differ in proportion to the step."""
    text = f"""<mujoco><option density="1000" viscosity="0.1" wind="0.2 0 0" timestep="1e-4"/><worldbody><body>
<freejoint/><geom type="ellipsoid" size="0.1 0.2 0.05" density="1200" pos="0.05 0 0" {seen}/></body></worldbody>
</mujoco>"""
    m, model = mujoco.MjModel.from_xml_string(text), fw.loads(text, "mjcf", strict=True)
    data = mujoco.MjData(m)
    data.qvel[:] = (1.0, 0.5, 0.2, 3.0, -2.0, 1.0)
    q, v = fw.convert.from_mujoco(model, data.qpos, data.qvel)
    for _ in range(5000):
        mujoco.mj_step(m, data)
    end = fw.Simulator(model, dt=1e-4).rollout(fw.Simulator(model, dt=1e-4).state(q=q, v=v), n_steps=5000).final
    q_end, v_end = fw.convert.from_mujoco(model, data.qpos, data.qvel)
    assert np.abs(end.q - q_end).max() < 2e-3
    assert np.abs(end.v - v_end).max() < 5e-3


@pytest.mark.parametrize(
    "flags, acts",
    [
        ('damper="disable"', True),
        ('spring="disable"', True),
        ('spring="disable" damper="disable"', False),
    ],
)
def test_without_springs_and_dampers_there_is_no_fluid(flags: str, acts: bool) -> None:
    text = f"""<mujoco><option density="1.2"><flag {flags}/></option><worldbody><body><freejoint/><geom size="0.1"/>
</body></worldbody></mujoco>"""
    m = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(m)
    data.qvel[0] = 1.0
    mujoco.mj_forward(m, data)
    assert bool(data.qfrc_passive.any()) is acts
    assert (fw.loads(text, "mjcf").description.medium is not None) is acts


def test_ellipsoids_stay_where_the_file_has_no_fluid() -> None:
    text = """<mujoco><worldbody><body name="a"><freejoint/><geom size="0.1" fluidshape="ellipsoid"/></body>
<body name="b" pos="1 0 0"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"""
    model = fw.loads(text, "mjcf", strict=True)
    kinds = {link.name: [shape.kind for shape in link.fluid_shapes] for link in model.description.links}
    assert kinds == {"a": ["ellipsoid"], "b": []}
    assert model.description.medium is None
    assert [shape.kind for shape in fluid_shapes(model.description.links[1])] == ["box"]
