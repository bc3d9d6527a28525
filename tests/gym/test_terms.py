"""Terms against the functions of the model and of states, on environments in motion."""

from typing import Any

import numpy as np
import pytest

import featherweight as fw

gym, terms = fw.gym, fw.gym.terms


def value_of(task: Any, term: Any, envs: Any) -> Any:
    return term(gym.World(envs._episodes._buffers))


@pytest.fixture(scope="module")
def rough() -> Any:
    task = gym.tasks.quadruped("rough")
    envs = gym.VectorEnv(task, 5)
    envs.reset(seed=1)
    for action in np.random.default_rng(0).uniform(-1, 1, (15, 5, 12)):
        envs.step(action)
    return task, envs


def test_motion_of_the_base(rough: Any) -> None:
    _, envs = rough
    state = envs.state
    X = fw.frame_placement(state.simulator.model, state.q, "robot/trunk")
    velocity = fw.frame_velocity(state.simulator.model, state.q, state.v, "robot/trunk")
    assert np.allclose(value_of(*_with(rough, terms.up("robot"))), X[:, 2, :3], atol=1e-14)
    assert np.allclose(value_of(*_with(rough, terms.base_velocity("robot"))), velocity[:, :3], atol=1e-13)
    assert np.allclose(value_of(*_with(rough, terms.base_spin("robot"))), velocity[:, 3:], atol=1e-13)
    world = fw.frame_velocity(state.simulator.model, state.q, state.v, "robot/trunk", reference="local_world_aligned")
    assert np.allclose(value_of(*_with(rough, terms.speed("robot"))), world[:, 0], atol=1e-13)


def _with(rough: Any, term: Any) -> tuple[Any, Any, Any]:
    return rough[0], term, rough[1]


def test_height_above_bumps_is_what_a_ball_finds(rough: Any) -> None:
    """On the points of the field, and between them within the bounds of the cell."""
    task, envs = rough
    field = next(shape for shape in task.simulator.scene.shapes if shape.name == "ground")
    x, y = np.meshgrid(*(np.linspace(-h, h, n) for h, n in zip(field.size, field.heights.shape, strict=True)))
    from featherweight.gym.terms.ground import ground_height

    world = gym.World(envs._episodes._buffers)
    assert np.allclose(ground_height(world, x.T, y.T), field.heights, atol=1e-12)
    assert np.allclose(ground_height(world, x.T + 100.0, y.T), field.heights[-1][None, :], atol=1e-12)
    scan = value_of(task, terms.ground_scan("robot", (0.0,), (0.0,)), envs)
    assert np.allclose(scan[:, 0], value_of(task, terms.base_height("robot"), envs), atol=1e-12)


def test_feet_that_touch_are_those_with_forces(rough: Any) -> None:
    task, envs = rough
    state = envs.state
    flags = value_of(task, terms.touching("robot/*_foot"), envs)
    names = [name for name in state.simulator.model.link_names if name.endswith("_foot")]
    contacts = state.contacts
    loaded = contacts.force[:, 2] > 1e-9
    expected = np.zeros_like(flags)
    for environment, shape in zip(contacts.environment[loaded], contacts.shape_b[loaded], strict=True):
        for k, name in enumerate(names):
            expected[environment, k] += contacts.names[shape].startswith(name)
    for environment, shape in zip(contacts.environment[loaded], contacts.shape_a[loaded], strict=True):
        for k, name in enumerate(names):
            expected[environment, k] += contacts.names[shape].startswith(name)
    assert np.array_equal(flags, np.minimum(expected, 1.0))
    assert 0 < flags.sum() < flags.size


def test_rewards_by_hand(rough: Any) -> None:
    task, envs = rough
    q, v, tau = envs.state.q[:, 7:], envs.state.v[:, 6:], envs.state.joint_forces[:, 6:]
    assert np.allclose(value_of(task, terms.effort("robot"), envs), (tau**2).sum(axis=1))
    assert np.allclose(value_of(task, terms.power("robot"), envs), np.abs(tau * v).sum(axis=1))
    start = task.simulator.scene.q0[7:]
    assert np.allclose(
        value_of(task, terms.drift(terms.joint_positions("robot")), envs), ((q - start) ** 2).sum(axis=1)
    )
    wanted = envs._episodes._buffers.commands["velocity"]
    error = envs.state.v[:, [0, 1, 5]] - wanted
    reward = 2.0 * np.exp(-(error**2).sum(axis=1) / 0.25)
    assert np.allclose(value_of(task, task.terms("rewards")["velocity"], envs), reward)


def test_a_trot_at_rest_is_half_right() -> None:
    """All four feet stand, two of them should: at any time of the clock."""
    envs = gym.VectorEnv(gym.tasks.quadruped(), 1)
    envs.reset(seed=0)
    for _ in range(25):
        envs.step(np.zeros((1, 12)))
    assert envs.reward_terms["trot"][0] == 0.25


def test_arm_grasps_lifts_and_places_the_cube() -> None:
    """By inverse kinematics: the task can be solved, and the gripper holds what it has."""
    task = gym.tasks.pick_and_place()
    env = gym.Env(task)
    env.reset(seed=0)
    model = task.simulator.model
    down = fw.frame_placement(model, task.simulator.scene.q0, "arm/grip")
    rewards = []

    def goto(place: Any, closed: bool, steps: int) -> None:
        for _ in range(steps):
            q = env.state.q[0]
            target = down.copy()
            target[:3, 3] = place
            found = fw.inverse_kinematics(model, {"arm/grip": target}, q0=q)
            control = env._batch._episodes._buffers.control[0, :7]
            action = np.clip((found.q[:7] - control) / 0.06, -1, 1)
            rewards.append(env.step([*action, -1.0 if closed else 1.0])[1])

    cube = env.state.q[0, 9:12].copy()
    goal = env._batch._episodes._buffers.commands["goal"][0]
    goto(cube + np.array([0, 0, 0.1]), False, 25)
    goto(cube, False, 25)
    goto(cube, True, 15)
    goto(goal, True, 45)
    assert np.linalg.norm(env.state.q[0, 9:12] - goal) < 0.03
    assert rewards[-1] > 4.5 > 2.0 > rewards[0]
