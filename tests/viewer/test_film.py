"""Videos without a display."""

import itertools
from pathlib import Path

import numpy as np
import pytest

import featherweight as fw

pytest.importorskip("panda3d.core", reason="videos need the extra featherweight[video]")
ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="videos need the extra featherweight[video]")

from featherweight.viewer.film import render  # noqa: E402


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


def test_bad_sizes_and_environments_are_named(tmp_path: Path) -> None:
    motion = thrown()
    with pytest.raises(ValueError, match="size: expected even"):
        motion.video(tmp_path / "x.mp4", size=(321, 180))
    with pytest.raises(ValueError, match="environment: 3, there are 1"):
        motion.video(tmp_path / "x.mp4", environment=3)
