"""Concave meshes as convex pieces: what they hold, that they are found again, and what goes wrong without them."""

import importlib.metadata
import sys
from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import featherweight as fw
from featherweight.cli.main import main
from featherweight.scene import coacd_process, decomposition
from featherweight.scene.decomposition import convex_pieces
from featherweight.scene.hulls import convex_hull, mass_properties

if find_spec("coacd") is None:
    pytest.skip("cutting meshes needs featherweight[decompose]", allow_module_level=True)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for each test, on disk and in memory."""
    monkeypatch.setenv("FEATHERWEIGHT_CACHE", str(tmp_path / "cache"))
    decomposition._kept_pieces.cache_clear()
    return tmp_path / "cache"


def channel() -> tuple[np.ndarray, np.ndarray]:
    """A gutter along y, open above: 0.6 m wide, 0.3 m high, walls and floor 0.1 m thick, 1 m long."""
    outline = [(-0.3, 0), (0.3, 0), (0.3, 0.3), (0.2, 0.3), (0.2, 0.1), (-0.2, 0.1), (-0.2, 0.3), (-0.3, 0.3)]
    vertices = np.array([(x, y, z) for y in (-0.5, 0.5) for x, z in outline])
    caps = [(0, 1, 4), (0, 4, 5), (1, 2, 3), (1, 3, 4), (0, 5, 6), (0, 6, 7)]
    faces = [*caps, *((c + 8, b + 8, a + 8) for a, b, c in caps)]
    for k in range(8):
        n = (k + 1) % 8
        faces += [(k, k + 8, n), (n, k + 8, n + 8)]
    return vertices, np.array(faces)


def volume_of(pieces: list[np.ndarray]) -> float:
    return sum(convex_hull("piece", piece).volume for piece in pieces)


def test_pieces_fill_the_solid_and_not_its_hollow() -> None:
    vertices, faces = channel()
    pieces = convex_pieces("channel", vertices, faces)
    solid = abs(mass_properties(vertices, faces)[0])
    assert solid == pytest.approx(0.1)
    assert len(pieces) >= 3
    assert volume_of(pieces) == pytest.approx(solid, rel=0.02)  # cuts are planes: a channel is made of boxes
    inside = np.array((0.0, 0.0, 0.2))
    for piece in pieces:
        hull = convex_hull("piece", piece)
        a, b, c = np.moveaxis(hull.vertices[hull.faces], 1, 0)
        assert (np.einsum("ij,ij->i", np.cross(b - a, c - a), inside - a) > 0.0).any()


def test_a_ball_lies_in_the_channel_instead_of_on_its_hull() -> None:
    vertices, faces = channel()
    heights = []
    for decompose in (True, False):
        scene = fw.Scene()
        scene.add(fw.mesh(vertices, faces, decompose=decompose, static=True), name="channel")
        scene.add(fw.sphere(0.1), name="ball", pose=(0.02, 0.0, 0.45))
        sim = fw.Simulator(scene, dt=2e-3)
        heights.append(sim.rollout(sim.state(), n_steps=500).final.q[2])
    assert heights[0] == pytest.approx(0.2, abs=1e-3)  # the floor as CoACD leaves it
    assert heights[1] == pytest.approx(0.4, abs=1e-6)


def test_pieces_are_found_once_and_the_same_bits_ever_after(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = convex_pieces("channel", *channel())
    files = list((cache / "pieces").iterdir())
    assert len(files) == 1
    decomposition._kept_pieces.cache_clear()
    monkeypatch.setattr(coacd_process, "cut", lambda *_, **__: pytest.fail("cut again"))
    for piece, again in zip(first, convex_pieces("channel", *channel()), strict=True):
        np.testing.assert_array_equal(piece, again)


def test_cutting_again_gives_the_same_pieces(cache: Path) -> None:
    first = convex_pieces("channel", *channel())
    next((cache / "pieces").iterdir()).unlink()
    decomposition._kept_pieces.cache_clear()
    for piece, again in zip(first, convex_pieces("channel", *channel()), strict=True):
        np.testing.assert_array_equal(piece, again)


def test_a_spoilt_cache_is_made_anew(cache: Path) -> None:
    n = len(convex_pieces("channel", *channel()))
    file = next((cache / "pieces").iterdir())
    for spoilt in (b"", b"PK\x03\x04 half of it"):
        file.write_bytes(spoilt)
        decomposition._kept_pieces.cache_clear()
        assert len(convex_pieces("channel", *channel())) == n


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FEATHERWEIGHT_CACHE", str(tmp_path / "file"))
    assert len(convex_pieces("channel", *channel())) >= 3


URDF = """<robot name="cart"><link name="cart">
  <inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision name="tray"><geometry><mesh filename="channel.obj" scale="1 1 0.5"/></geometry></collision>
  <collision name="knob"><origin xyz="0 0 -0.1"/><geometry><sphere radius="0.05"/></geometry></collision>
</link></robot>"""


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    vertices, faces = channel()
    lines = [f"v {x} {y} {z}" for x, y, z in vertices] + [f"f {a} {b} {c}" for a, b, c in faces + 1]
    (tmp_path / "channel.obj").write_text("\n".join(lines))
    (tmp_path / "cart.urdf").write_text(URDF)
    return tmp_path / "cart.urdf"


def test_meshes_of_a_robot_become_pieces_that_are_part_of_it(robot: Path) -> None:
    model = fw.load(robot, floating_base=True)
    cut = fw.decomposed(model)
    names = [g.name for g in cut.description.links[0].geometries]
    assert names[:3] == ["tray_piece_0", "tray_piece_1", "tray_piece_2"]
    assert names[-1] == "knob"
    (robot.parent / "channel.obj").unlink()  # they need no file any more
    scene = fw.Scene(ground=fw.Plane())
    scene.add(cut, name="cart", pose=(0, 0, 0.2))
    shapes = fw.Simulator(scene).scene.shapes
    assert sum(shape.kind == "convex" for shape in shapes) == len(names) - 1
    tops = [shape.vertices.max(axis=0)[2] for shape in shapes if shape.vertices is not None]
    assert max(tops) == pytest.approx(0.15, abs=1e-3)  # scaled by a half
    assert cut.mass == model.mass


def test_info_counts_the_pieces(robot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(robot), "--decompose"]) == 0
    out, _ = capsys.readouterr()
    assert "convex sphere" in out
    assert "mesh" not in out


def test_what_cannot_be_cut_is_refused() -> None:
    vertices, faces = channel()
    with pytest.raises(fw.ModelError, match=r"concavity must be from 0\.01 to 1, got 2"):
        fw.mesh(vertices, faces, decompose=2.0)
    with pytest.raises(fw.ModelError, match="pieces need faces"):
        fw.mesh(vertices, decompose=True)
    with pytest.raises(fw.ModelError, match="give pieces or decompose"):
        fw.mesh(vertices, faces, pieces=True, decompose=True)
    with pytest.raises(fw.ModelError, match="triangles around a solid, got 2"):
        fw.mesh(vertices, faces[:2], decompose=True)


def test_without_coacd_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    decomposition._kept_pieces.cache_clear()
    with pytest.raises(ImportError, match=r'pip install "featherweight\[decompose\]"'):
        fw.mesh(*channel(), decompose=True)


def test_libraries_loaded_later_still_read_numbers(cache: Path) -> None:
    """CoACD's C++ runtime would spoil the streams of Pinocchio, were it loaded into this process."""
    convex_pieces("channel", *channel())
    assert "coacd" not in sys.modules


def test_what_coacd_cannot_cut_is_an_error_that_says_so(cache: Path) -> None:
    vertices, faces = channel()
    with pytest.raises(RuntimeError, match="CoACD failed with code"):
        coacd_process.cut(vertices, faces[:, :2], 0.05)
