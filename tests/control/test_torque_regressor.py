"""Joint forces from the regressor are those of rnea, and parameters come back from them."""

import numpy as np
import pytest

import featherweight as fw

MODELS = [fw.models.random_tree(seed, 7, floating=seed % 2 == 0, armature=False) for seed in range(4)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@pytest.mark.parametrize("batch", [None, 1, 5])
def test_regressor_times_parameters_is_rnea(model: fw.Model, batch: int | None) -> None:
    rng = np.random.default_rng(0)
    q = model.random(rng, batch=batch)
    v, a = rng.normal(size=(2, *q.shape[:-1], model.nv))
    Y = fw.torque_regressor(model, q, v, a)
    assert Y.shape == (*q.shape[:-1], model.nv, 10 * model.n_links)
    tau = fw.rnea(model, q, v, a)
    assert np.abs(Y @ fw.inertial_parameters(model) - tau).max() < 1e-12 * np.abs(tau).max()


def test_columns_are_derivatives_with_respect_to_the_parameters_of_a_link() -> None:
    """Each parameter of a link of the arm changed by itself, in a model built anew: forces are linear in them."""
    arm = fw.models.arm()
    rng = np.random.default_rng(1)
    q, v, a = rng.normal(size=(3, 7))
    Y, tau = fw.torque_regressor(arm, q, v, a), fw.rnea(arm, q, v, a)
    link = arm.link_names.index("link_4")
    p = fw.inertial_parameters(arm)
    for k in range(10):
        changed = p[10 * link : 10 * link + 10].copy()
        step = 1e-3
        changed[k] += step
        m, c = changed[0], changed[1:4] / changed[0]
        xx, xy, yy, xz, yz, zz = changed[4:]
        about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        inertia = about_origin - m * (c @ c * np.eye(3) - np.outer(c, c))
        builder = fw.ModelBuilder.from_description(arm.description, allow_nonphysical=True)
        described = builder._links["link_4"]
        builder._links["link_4"] = type(described)(described.name, fw.Inertia(m, c, inertia), described.geometries)
        other = fw.rnea(builder.build(), q, v, a)
        assert np.abs((other - tau) / step - Y[:, 10 * link + k]).max() < 1e-9


def test_links_that_cannot_move_have_no_columns() -> None:
    arm = fw.models.arm()
    Y = fw.torque_regressor(arm, np.ones(7), np.ones(7), np.ones(7))
    base = arm.link_names.index("base")
    assert not Y[:, 10 * base : 10 * base + 10].any()


def test_bad_shapes_are_named() -> None:
    arm = fw.models.arm()
    with pytest.raises(ValueError, match=r"v: expected shape \(7,\)"):
        fw.torque_regressor(arm, np.zeros(7), np.zeros(6), np.zeros(7))
