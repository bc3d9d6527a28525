"""Centre of mass, energies and centroidal momentum."""

import numpy as np
from helpers.compare import assert_close
from helpers.forests import Forest, forests, random_forest
from hypothesis import given

import featherweight as fw
from featherweight import reference


@given(forests())
def test_sums_over_links_match_the_twins(forest: Forest) -> None:
    description, s = forest.description, forest.state()
    model = fw.Model(description)
    assert_close(model.mass, sum(link.inertia.mass for link in description.links if link.inertia), 1e-14)
    assert_close(fw.center_of_mass(model, s.q), reference.center_of_mass(description, s.q))
    assert_close(fw.potential_energy(model, s.q), reference.potential_energy(description, s.q))
    assert_close(fw.kinetic_energy(model, s.q, s.v), reference.kinetic_energy(description, s.q, s.v))
    assert_close(fw.centroidal_momentum(model, s.q, s.v), reference.centroidal_momentum(description, s.q, s.v))


@given(forests())
def test_kinetic_energy_is_half_v_H_v(forest: Forest) -> None:
    model, s = fw.Model(forest.description), forest.state()
    assert_close(fw.kinetic_energy(model, s.q, s.v), s.v @ fw.crba(model, s.q) @ s.v / 2)


@given(forests())
def test_potential_energy_is_the_weight_times_the_height(forest: Forest) -> None:
    model, q = fw.Model(forest.description), forest.state().q
    weight = reference.masses(forest.description).sum() * forest.description.gravity
    expected = -weight @ fw.center_of_mass(model, q)
    assert_close(fw.potential_energy(model, q), expected)


def test_momentum_of_a_floating_robot_is_its_base_row_of_the_mass_matrix() -> None:
    """H v in the rows of a free base is the whole momentum, about the base, in the base's axes."""
    forest = random_forest(seed=5, n_links=10, joints=("revolute", "prismatic", "spherical"))
    floating = Forest((type(forest.plans[0])("free"), *(type(p)(p.joint, 0, p.axis) for p in forest.plans)))
    model, s = fw.Model(floating.description), floating.state()
    X = fw.forward_kinematics(model, s.q)[0]
    R, arm = X[:3, :3], fw.center_of_mass(model, s.q) - X[:3, 3]
    about_base = (fw.crba(model, s.q) @ s.v)[:6]
    linear, angular = R @ about_base[:3], R @ about_base[3:]
    expected = np.concatenate([linear, angular - np.cross(arm, linear)])
    assert_close(fw.centroidal_momentum(model, s.q, s.v), expected)
