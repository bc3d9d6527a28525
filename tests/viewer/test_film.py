"""Videos without a display."""

import itertools
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import featherweight as fw

pytest.importorskip("panda3d.core", reason="videos need the extra featherweight[video]")
ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="videos need the extra featherweight[video]")

from featherweight.viewer import film  # noqa: E402
from featherweight.viewer.animation import Animation  # noqa: E402
from featherweight.viewer.film import render  # noqa: E402
from featherweight.viewer.world import World  # noqa: E402


def thrown() -> fw.Trajectory:
    scene = fw.Scene(ground=fw.Plane())
    scene.add(fw.sphere(0.1, rgba=(1.0, 0.0, 0.0, 1.0)), name="ball", pose=(0.0, 0.0, 1.0))
    sim = fw.Simulator(scene, 2e-3)
    return sim.rollout(sim.state(), n_steps=200)


def redness(picture: np.ndarray) -> np.ndarray:
    red, green = picture[..., 0].astype(float), picture[..., 1].astype(float)
    return red > green + 60.0


def test_a_falling_ball_moves_down_the_picture() -> None:
    pictures = list(render(thrown().animation().frames(10.0, 100), size=(320, 180)))
    assert pictures[0].shape == (180, 320, 3)
    rows = [float(np.nonzero(redness(picture))[0].mean()) for picture in pictures]
    assert all(b > a for a, b in itertools.pairwise(rows))


def test_a_video_has_the_frames_and_the_length_of_the_motion(tmp_path: Path) -> None:
    path = tmp_path / "ball.mp4"
    thrown().video(path, fps=25.0, size=(320, 180))
    frames, seconds = ffmpeg.count_frames_and_secs(str(path))
    assert frames == 11
    assert seconds == pytest.approx(frames / 25.0, abs=0.05)


def test_pictures_by_number(tmp_path: Path) -> None:
    thrown().video(tmp_path / "frame_%02d.png", fps=5.0, size=(64, 48))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["frame_00.png", "frame_01.png", "frame_02.png"]
    assert (tmp_path / names[0]).read_bytes().startswith(b"\x89PNG")


def test_an_interrupted_video_is_valid_up_to_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any, **options: Any) -> Iterator[np.ndarray]:
        yield from itertools.islice(render(*arguments, **options), 5)
        raise KeyboardInterrupt

    monkeypatch.setattr(film, "render", interrupted)
    path = tmp_path / "ball.mp4"
    with pytest.raises(KeyboardInterrupt):
        thrown().video(path, fps=25.0, size=(320, 180))
    assert ffmpeg.count_frames_and_secs(str(path))[0] == 5


def test_ten_thousand_frames_are_rendered_one_at_a_time() -> None:
    model = fw.models.quadruped()
    q = np.tile(model.neutral(), (1, 10_000, 1))
    long = Animation(World.of(model), "long", np.linspace(0.0, 200.0, 10_000), q)
    tracemalloc.start()
    try:
        pictures = list(itertools.islice(render(long, size=(320, 180)), 3))
        assert len(pictures) == 3
        assert tracemalloc.get_traced_memory()[1] < 50e6  # all frames: 1.7 GB
    finally:
        tracemalloc.stop()


def test_a_level_floor_has_a_grid_and_a_shadow_and_nothing_is_cut_off() -> None:
    still = thrown().animation().frames(1.0, 1)
    seen = next(iter(render(still, size=(320, 180)))).astype(int)
    assert len(np.unique(seen[-20:].reshape(-1, 3), axis=0)) > 3  # lines on the ground
    for size in ((320, 180), (180, 320), (64, 64)):
        for motion in (still, thrown().animation()):
            red = redness(next(iter(render(motion, size=size))))
            assert red.any()
            assert not (red[0].any() or red[-1].any() or red[:, 0].any() or red[:, -1].any())


def test_the_camera_and_the_shadow_go_with_what_travels() -> None:
    scene = fw.Scene(ground=fw.Plane(), gravity=(0.0, 0.0, 0.0))
    scene.add(fw.box((0.2, 0.2, 0.2), rgba=(1.0, 0.0, 0.0, 1.0)), name="crate", pose=(0.0, 0.0, 0.3))
    sim = fw.Simulator(scene, 2e-3)
    motion = sim.rollout(sim.state(v=np.array([10.0, 0.0, 0.0, 0.0, 0.0, 0.0])), n_steps=300)
    pictures = list(render(motion.animation().frames(5.0, 100), size=(320, 180)))
    first, last = redness(pictures[0]), redness(pictures[-1])
    assert np.mean(first != last) < 5e-3

    def shaded(picture: np.ndarray) -> int:
        return int((np.abs(picture.astype(int) - (173, 176, 184)).max(axis=-1) < 4).sum())

    assert shaded(pictures[0]) > 100
    assert shaded(pictures[-1]) == pytest.approx(shaded(pictures[0]), rel=0.1)


def test_bad_sizes_and_environments_are_named(tmp_path: Path) -> None:
    motion = thrown()
    (tmp_path / "x.mp4").write_bytes(b"kept")
    with pytest.raises(ValueError, match="size: expected even"):
        motion.video(tmp_path / "x.mp4", size=(321, 180))
    with pytest.raises(ValueError, match="environment: 3, there are 1"):
        motion.video(tmp_path / "x.mp4", environment=3)
    assert (tmp_path / "x.mp4").read_bytes() == b"kept"
