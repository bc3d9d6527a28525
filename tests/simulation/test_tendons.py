"""Limits and dry friction of tendons over several joints: one row, whichever joints it moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import featherweight as fw

G = 9.81


def sliders(n: int = 2, *, chain: bool = False, masses: tuple[float, ...] = (1.0, 2.0, 3.0), **tendon: Any) -> fw.Model:
    """Blocks that slide along z, side by side or each on the one before, and a tendon over all of them."""
    builder = fw.ModelBuilder("sliders")
    for k in range(n):
        builder.link(f"block_{k}", mass=masses[k], inertia=np.ones(3))
        parent = f"block_{k - 1}" if chain and k else "world"
        builder.joint(f"slide_{k}", "prismatic", parent, f"block_{k}", axis="z", placement=(float(k), 0, 0))
    coefficients = tendon.pop("coefficients", {f"slide_{k}": 1.0 for k in range(n)})
    return builder.tendon("rope", coefficients, **tendon).build()


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit", "verlet"])
def test_a_rope_over_a_pulley_hangs_as_atwood_has_it(integrator: Any) -> None:
    """The sum of two heights is bounded: both blocks fall until it is tight, then the heavy one lifts the light one."""
    model = sliders(range=(-0.5, 10.0))
    sim = fw.Simulator(model, dt=1e-3, integrator=integrator)
    start = sim.state(q=[-0.25, -0.25])  # it is tight
    end = sim.rollout(start, n_steps=300).final
    a = (2.0 - 1.0) * G / 3.0
    t = 0.3
    np.testing.assert_allclose(end.v, [a * t, -a * t], rtol=1e-10)
    np.testing.assert_allclose(end.q, [-0.25 + a * t**2 / 2, -0.25 - a * t**2 / 2], atol=2e-3 * a * t)
    assert end.q.sum() == pytest.approx(-0.5, abs=1e-12)
    force = 2.0 * 1.0 * 2.0 * G / 3.0  # of the rope
    np.testing.assert_allclose(end.forces.limits, [force, force], rtol=1e-8)


@pytest.mark.parametrize("chain", [False, True])
def test_dry_friction_of_a_tendon_holds_up_to_its_bound(chain: bool) -> None:
    for bound, stays in ((50.0, True), (5.0, False)):
        model = sliders(chain=chain, friction=bound)
        gravity_off = fw.Scene(gravity=(0, 0, 0))
        gravity_off.add(model, name="m")
        sim = fw.Simulator(gravity_off, dt=1e-3)
        pull = np.array([20.0, 20.0])
        end = sim.rollout(sim.state(), tau=pull, n_steps=100).final
        H = fw.crba(model, np.zeros(2))
        rope = 0.0 if stays else bound  # beyond its bound it slips
        free = np.linalg.solve(H, pull - rope * np.ones(2))
        if stays:  # the rope does not run: the rest moves along it
            J = np.ones((1, 2))
            held = np.linalg.solve(np.block([[H, -J.T], [J, np.zeros((1, 1))]]), np.append(pull, 0.0))
            free = held[:2]
        np.testing.assert_allclose(end.v, 0.1 * free, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("solver", ["auto", fw.GaussSeidel(), fw.Newton(), fw.ADMM()])
def test_limits_are_met_with_contacts_and_batches_to_the_bit(solver: Any) -> None:
    model = sliders(3, chain=True, range=(-0.2, 0.3), coefficients={"slide_0": 1.0, "slide_1": -0.5, "slide_2": 2.0})
    scene = fw.Scene()
    scene.add(model, name="m")
    sim = fw.Simulator(scene, dt=2e-3, solver=solver)
    rng = np.random.default_rng(0)
    v = rng.normal(size=(9, 3))
    final = sim.rollout(sim.state(9, v=v), n_steps=200).final
    length = final.q @ [1.0, -0.5, 2.0]
    assert length.min() > -0.2 - 1e-8 and length.max() < 0.3 + 1e-8 and final.limit_violation.max() < 1e-8
    alone = sim.rollout(sim.state(v=v[4]), n_steps=200).final
    assert np.array_equal(alone.q, final.q[4]) and np.array_equal(alone.v, final.v[4])


def test_what_starts_beyond_comes_back_and_says_so() -> None:
    sim = fw.Simulator(sliders(range=(-10.0, 0.1)), dt=1e-3)
    state = sim.state(q=[0.1, 0.1])
    end = sim.rollout(state, n_steps=400).final
    assert end.q.sum() < 0.1 + 1e-9 and sim.step(state).limit_violation > 0.09


def test_three_branches_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"tendon '.*': .*two branches at most, this one has 3"):
        fw.Simulator(sliders(3, range=(0.0, 1.0)))
    with pytest.raises(ValueError, match="limits or dry friction of tendons"):
        fw.Simulator(sliders(range=(-1.0, 1.0)), integrator="rk4")


def test_states_are_saved_and_loaded_with_the_impulses_of_tendons(tmp_path: Any) -> None:
    sim = fw.Simulator(sliders(range=(-0.5, 10.0)), dt=1e-3)
    state = sim.rollout(sim.state(q=[-0.25, -0.25]), n_steps=5).final
    state.save(tmp_path / "s.npz")
    again = fw.State.load(sim, tmp_path / "s.npz")
    assert np.array_equal(sim.step(again).v, sim.step(state).v)
    assert np.array_equal(again.forces.limits, state.forces.limits)


FINGER = """<mujoco><option timestep="0.001"><flag contact="disable"/></option><worldbody>
  <body name="a"><joint name="j" axis="0 1 0" damping="0.05"/><geom type="capsule" fromto="0 0 0 0.1 0 0" size="0.01"/>
    <body name="b" pos="0.1 0 0"><joint name="k" axis="0 1 0" damping="0.05"/>
      <geom type="capsule" fromto="0 0 0 0.1 0 0" size="0.01"/></body></body></worldbody>
  <tendon><fixed name="t" {}><joint joint="j" coef="1"/><joint joint="k" coef="-0.7"/></fixed></tendon></mujoco>"""


@pytest.mark.parametrize("options", ['limited="true" range="-0.2 0.1"', 'range="0 0.3" margin="0.05"'])
def test_fingers_come_to_rest_where_mujoco_has_them(options: str) -> None:
    """Where it rests, soft limits of MuJoCo are pressed in by some milliradians."""
    mujoco = pytest.importorskip("mujoco")
    text = FINGER.format(options)
    model = fw.loads(text, "mjcf", strict=True)
    m = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(m)
    n = 800
    for _ in range(n):
        mujoco.mj_step(m, data)
    sim = fw.Simulator(model, dt=1e-3, integrator="implicit")
    end = sim.rollout(sim.state(), n_steps=n).final
    assert np.abs(end.q).max() > 0.1
    np.testing.assert_allclose(end.q, data.qpos, atol=0.02)


def test_limits_over_many_branches_are_listed() -> None:
    pytest.importorskip("mujoco")
    body = '<body pos="{0} 0 0"><joint name="{1}" axis="0 1 0"/><geom size="0.01" pos="0.1 0 0"/></body>'
    bodies = "".join(body.format(k, name) for k, name in enumerate("abc"))
    joints = "".join(f'<joint joint="{name}" coef="1"/>' for name in "abc")
    text = f'<mujoco><worldbody>{bodies}</worldbody><tendon><fixed range="0 1">{joints}</fixed></tendon></mujoco>'
    model = fw.loads(text, "mjcf")
    assert "more than two branches" in model.import_report.not_honoured[0].message
    fw.Simulator(model)
