"""The mass matrix against the NumPy twin, the dense oracle and inverse dynamics."""

import numpy as np
import pytest
from helpers.compare import assert_close
from helpers.forests import Forest, forests, random_forest
from hypothesis import given

import featherweight as fw
from featherweight import reference
from featherweight.reference import dense


@given(forests())
def test_crba_matches_the_twin(forest: Forest) -> None:
    q = forest.state().q
    assert_close(fw.crba(fw.Model(forest.description), q), reference.crba(forest.description, q))


@given(forests(max_links=6))
def test_crba_matches_the_dense_mass_matrix(forest: Forest) -> None:
    q = forest.state().q
    assert_close(fw.crba(fw.Model(forest.description), q), dense.mass_matrix(forest.description, q))


@given(forests())
def test_mass_matrix_times_acceleration_is_the_inertial_force(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    inertial = fw.rnea(model, s.q, s.v, s.a) - fw.bias_forces(model, s.q, s.v)
    assert_close(fw.crba(model, s.q) @ s.a, inertial)


@given(forests())
def test_mass_matrix_is_symmetric_and_positive_definite(forest: Forest) -> None:
    H = fw.crba(fw.Model(forest.description), forest.state().q)
    assert np.array_equal(H, H.T)
    np.linalg.cholesky(H)


@pytest.mark.parametrize("seed", range(5))
def test_large_forests(seed: int) -> None:
    forest = random_forest(seed, 40)
    q = forest.state().q
    assert_close(fw.crba(fw.Model(forest.description), q), reference.crba(forest.description, q))


def test_trees_do_not_feel_each_other() -> None:
    forest = random_forest(seed=4, n_links=20)
    model = fw.Model(forest.description)
    H = fw.crba(model, forest.state().q)
    tree = {"world": -1}
    for i, joint in enumerate(forest.description.joints):
        tree[joint.child] = i if joint.parent == "world" else tree[joint.parent]
    of_dof = np.array([tree[joint.child] for joint in model.joints for _ in range(joint.nv)])
    assert len(set(of_dof)) > 1
    assert not H[of_dof[:, None] != of_dof[None, :]].any()


def test_matrices_of_more_rows_than_are_written_at_once() -> None:
    """Branches of a long chain do not couple; columns are what unit accelerations take."""
    builder = fw.ModelBuilder("comb")
    carrier = "world"
    for k in range(70):
        builder.link(f"link_{k}", mass=1.0, inertia=0.1 * np.ones(3))
        builder.joint(f"joint_{k}", "revolute", carrier, f"link_{k}", placement=(0.1, 0, 0), axis="yz"[k % 2])
        carrier = f"link_{k - k % 7}"
    model = builder.build()
    q = np.random.default_rng(0).normal(size=(3, model.nq))
    rest = np.zeros(model.nv)
    for own, H in zip(q, fw.crba(model, q), strict=True):
        weight = fw.gravity_forces(model, own)
        columns = [fw.rnea(model, own, rest, unit) - weight for unit in np.eye(model.nv)]
        assert np.abs(H - columns).max() < 1e-11 * np.abs(H).max()
        assert (H == H.T).all()
    assert H[6, 5] == 0.0
