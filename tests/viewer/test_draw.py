"""Pictures of robots."""

from pathlib import Path

import pytest

import featherweight as fw
from featherweight.cli.info import builtin_models

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture
def axes() -> object:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    return figure.add_subplot(projection="3d")


@pytest.mark.parametrize("name", builtin_models())
def test_every_builtin_model_can_be_drawn_within_its_axes(name: str, axes: object) -> None:
    model = getattr(fw.models, name)()
    ax = fw.draw(model, ax=axes)
    origins = fw.forward_kinematics(model, model.q0)[:, :3, 3]
    for k, limits in enumerate((ax.get_xlim(), ax.get_ylim(), ax.get_zlim())):
        assert limits[0] <= origins[:, k].min()
        assert origins[:, k].max() <= limits[1]


def test_two_robots_share_a_scene(axes: object) -> None:
    model = fw.models.box()
    far = model.neutral()
    far[0] = 10.0
    fw.draw(model, ax=axes)
    ax = fw.draw(model, far, axes)
    assert ax.get_xlim()[0] < 0.0
    assert ax.get_xlim()[1] > 10.0


def test_robot_of_meshes_and_odd_joints_can_be_drawn(axes: object) -> None:
    fw.draw(fw.load(DATA / "features.urdf"), ax=axes)


def test_draw_wants_one_configuration(axes: object) -> None:
    model = fw.models.box()
    with pytest.raises(ValueError, match=r"expected one configuration, shape \(7,\), got \(3, 7\)"):
        fw.draw(model, model.random(0, batch=3), axes)
