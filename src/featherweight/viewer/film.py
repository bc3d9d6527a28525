"""Pictures and videos of a motion, without a display: rendered in software by Panda3D's tinydisplay.

Panda3D is maintained, comes as a wheel for every platform, and its software renderer needs neither a graphics driver
nor a library of the system; videos are encoded by the ffmpeg inside ``imageio-ffmpeg``.
"""

from __future__ import annotations

import importlib
import itertools
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..arrays import Array
from ..progress import progress_bar
from .animation import Animation
from .surfaces import Surface

Picture = NDArray[np.uint8]

_INSTALL = 'pip install "featherweight[video]"'
_SUFFIXES = (".mp4", ".mov", ".mkv", ".avi")
_FINER = 2  # pixels rendered for each one shown, in each direction: smooth edges
_SUN = np.array([0.35, -0.5, 1.0])  # towards the light
_BACKGROUND = (0.93, 0.95, 0.97)
_FIELD = 32.0  # of view, along the shorter side [degrees]
_GRID = (0.74, 0.78, 0.83)  # colour of its lines


def render(animation: Animation, *, size: tuple[int, int] = (1280, 720), environment: int = 0) -> Iterator[Picture]:
    """The frames of one environment as pictures (height, width, 3), one after the other."""
    stage = _Stage(animation, size, environment)
    try:
        for k in range(len(animation.time)):
            yield stage.picture(k)
    finally:
        stage.close()


class Camera:
    """Pictures of a scene at any coordinates, from a camera that stays beside what moves.

    start: the scene where it is put together, as ``sim.animation()`` returns it.
    """

    def __init__(self, start: Animation, size: tuple[int, int] = (640, 480)) -> None:
        self._model = start.world.model
        self._stage = _Stage(start, size, 0)
        self._start = self._middle(self._placements(start.q[0, 0]))

    def picture(self, q: Array) -> Picture:
        """(height, width, 3) at coordinates (nq,)."""
        placements = self._placements(q)
        self._stage.move_camera((self._middle(placements) - self._start) * (1.0, 1.0, 0.0))
        return self._stage.picture_of(placements)

    def close(self) -> None:
        self._stage.close()

    def _placements(self, q: Array) -> Array:
        return np.asarray(_core.forward_kinematics(self._model, np.ascontiguousarray(q)))

    @staticmethod
    def _middle(placements: Array) -> Array:
        return np.asarray(placements[:, :3, 3].mean(axis=0))


def save_video(
    animation: Animation,
    path: str | os.PathLike[str],
    *,
    fps: float = 30.0,
    size: tuple[int, int] = (1280, 720),
    environment: int = 0,
    progress: bool = False,
) -> None:
    """An MP4 file at the speed of the motion, or numbered images if ``path`` is a name like ``frame_%04d.png``.

    If it is interrupted, the frames rendered so far are a valid video.
    """
    target = Path(path)
    check_name(target)
    shown = animation.frames(fps, most=100_000)
    target.parent.mkdir(parents=True, exist_ok=True)
    pictures = render(shown, size=size, environment=environment)
    first = next(pictures)  # what cannot be rendered is found out before a file is touched
    with progress_bar(len(shown.time), "rendering", enabled=progress) as advance:
        write = _pictures(target) if "%" in target.name else _video(target, fps, size)
        next(write)
        try:
            for picture in itertools.chain([first], pictures):
                write.send(picture)
                advance(1)
        finally:
            write.close()


def _video(path: Path, fps: float, size: tuple[int, int]) -> Any:
    ffmpeg = _module("imageio_ffmpeg")
    try:
        open(path, "ab").close()  # ffmpeg would not say why it cannot
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(path)) from None
    writer = ffmpeg.write_frames(str(path), size, fps=fps, macro_block_size=2, quality=7, ffmpeg_log_level="quiet")
    writer.send(None)
    try:
        while True:
            writer.send(np.ascontiguousarray((yield)))
    except OSError:  # which repeats all that ffmpeg was told
        raise OSError(
            f"{path}: the video cannot be written; is there room in its folder, and leave to write?"
        ) from None
    finally:
        writer.close()


def _pictures(path: Path) -> Any:
    number = 0
    while True:
        picture = yield
        save_picture(picture, path.with_name(path.name % number))
        number += 1


def save_picture(picture: Picture, path: str | os.PathLike[str]) -> None:
    """A picture (height, width, 3) as a file, in the format that its name asks for."""
    core = _module("panda3d.core")
    image = core.PNMImage(picture.shape[1], picture.shape[0])
    texture = core.Texture()
    texture.setup_2d_texture(picture.shape[1], picture.shape[0], core.Texture.T_unsigned_byte, core.Texture.F_rgb)
    texture.set_ram_image(np.ascontiguousarray(picture[::-1, :, ::-1]).tobytes())  # rows from below, blue first
    texture.store(image)
    file = os.path.abspath(path)  # Panda3D remembers the folder it was imported in
    if not image.write(core.Filename.from_os_specific(file)):
        raise OSError(f"{os.fspath(path)}: the picture cannot be written")


def check_installed() -> None:
    """Raises ImportError, which says what to install, if videos cannot be made."""
    for name in ("panda3d.core", "imageio_ffmpeg"):
        _module(name)


def check_name(path: Path) -> None:
    """Raises ValueError if the name is neither that of a video nor that of numbered images."""
    if "%" not in path.name and path.suffix.lower() not in _SUFFIXES:
        *most, last = _SUFFIXES
        raise ValueError(
            f"{path}: the name of a video ends in {', '.join(most)} or {last}; "
            "that of numbered images is like frame_%04d.png"
        )


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f"videos need {name.partition('.')[0].replace('_', '-')}: {_INSTALL}") from None


class _Stage:
    """A scene of Panda3D, a camera that sees the whole motion, and a buffer to render into."""

    def __init__(self, animation: Animation, size: tuple[int, int], environment: int) -> None:
        if not 0 <= environment < animation.n_environments:
            raise ValueError(f"environment: {environment}, there are {animation.n_environments}")
        if len(size) != 2 or any(n < 16 or n % 2 for n in size):
            raise ValueError(f"size: expected even width and height of at least 16 pixels, got {size}")
        animation = replace(animation, q=animation.q[environment : environment + 1], contacts=(), curves={})
        self._core = core = _module("panda3d.core")
        # no display is opened, and none is missed
        core.load_prc_file_data(
            "", "load-display p3tinydisplay\naudio-library-name null\nnotify-level-x11display fatal"
        )
        self._size = width, height = size
        self._placements = animation.placements()[0]
        self._engine = core.GraphicsEngine()
        pipe = core.GraphicsPipeSelection.get_global_ptr().make_module_pipe("p3tinydisplay")
        wanted = core.FrameBufferProperties()
        wanted.set_rgba_bits(8, 8, 8, 8)
        wanted.set_depth_bits(24)
        properties = core.WindowProperties.size(_FINER * width, _FINER * height)
        self._buffer = self._engine.make_output(pipe, "film", 0, wanted, properties, core.GraphicsPipe.BF_refuse_window)
        if self._buffer is None:
            raise RuntimeError("videos: Panda3D could not make a buffer to render into")
        self._texture = core.Texture()
        self._buffer.add_render_texture(self._texture, core.GraphicsOutput.RTM_copy_ram)
        self._buffer.set_clear_color((*_BACKGROUND, 1.0))
        self._root = core.NodePath("world")
        self._robot = self._root.attach_new_node("robot")
        self._links = [self._robot.attach_new_node(name) for name in animation.world.model.link_names]
        self._add_items(animation)
        self._add_lights()
        extent = animation.extent(self._placements)
        lower, upper = extent.lower, extent.upper
        self._path = animation.centers_of_mass()[0] * (1.0, 1.0, 0.0) if extent.travels else None
        if self._path is not None:
            lower, upper = animation.extent(self._placements[:1]).lower, animation.extent(self._placements[:1]).upper
        self._add_camera(0.5 * (lower + upper), float(np.linalg.norm(upper - lower)))
        floor = animation.world.floor()
        if floor is not None:
            self._add_grid(0.5 * (lower + upper), float(np.linalg.norm(upper - lower)), floor)
            self._add_shadow(floor)

    def picture(self, frame: int) -> Picture:
        if self._path is not None:
            self.move_camera(self._path[frame] - self._path[0])
        return self.picture_of(self._placements[frame])

    def picture_of(self, placements: NDArray[Any]) -> Picture:
        """placements: (links, 3 or 4, 4)."""
        for node, X in zip(self._links, placements, strict=True):
            node.set_mat(self._matrix(X))
        self._engine.render_frame()
        width, height = self._size
        raw = np.frombuffer(self._texture.get_ram_image_as("RGB"), dtype=np.uint8)
        fine = raw.reshape(height, _FINER, width, _FINER, 3)[::-1]
        return np.asarray(fine.mean(axis=(1, 3), dtype=np.float32), dtype=np.uint8)

    def move_camera(self, by: Array) -> None:
        """By (3,) from where it was first [m]."""
        self._camera.set_pos(*(self._eye + by))

    def close(self) -> None:
        self._engine.remove_all_windows()

    def _matrix(self, X: NDArray[Any]) -> Any:
        """Panda3D multiplies rows from the left."""
        R, p = X[:3, :3], X[:3, 3]
        return self._core.LMatrix4(*(float(x) for row in R.T for x in (*row, 0.0)), *(float(x) for x in p), 1.0)

    def _add_items(self, animation: Animation) -> None:
        nodes = [self._node(surface) for surface in animation.world.surfaces]
        for item in animation.world.items:
            if item.role == "collision":
                continue
            parent = self._root if item.link < 0 else self._links[item.link]
            node = nodes[item.surface].copy_to(parent)
            node.set_mat(self._matrix(item.placement))
            material = self._core.Material()
            material.set_ambient(item.colour)
            material.set_diffuse(item.colour)
            node.set_material(material)
            node.set_two_sided(True)

    def _node(self, surface: Surface) -> Any:
        core = self._core
        vertices, faces = surface.vertices, surface.faces
        corners = vertices[faces]
        normals = np.zeros_like(vertices)
        for k in range(3):  # weighted by area
            np.add.at(normals, faces[:, k], np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
        normals = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
        data = core.GeomVertexData("surface", core.GeomVertexFormat.get_v3n3(), core.Geom.UH_static)
        data.unclean_set_num_rows(len(vertices))
        numbers = np.hstack([vertices, normals]).astype(np.float32).ravel()
        memoryview(data.modify_array(0)).cast("B").cast("f")[:] = numbers.data
        triangles = core.GeomTriangles(core.Geom.UH_static)
        triangles.set_index_type(core.Geom.NT_uint32)
        places = triangles.modify_vertices()
        places.unclean_set_num_rows(faces.size)
        memoryview(places).cast("B").cast("I")[:] = faces.astype(np.uint32).ravel().data
        geom = core.Geom(data)
        geom.add_primitive(triangles)
        node = core.GeomNode("surface")
        node.add_geom(geom)
        return core.NodePath(node)

    def _add_lights(self) -> None:
        core = self._core
        ambient, sun = core.AmbientLight("sky"), core.DirectionalLight("sun")
        ambient.set_color((0.62, 0.63, 0.66, 1.0))
        sun.set_color((0.5, 0.5, 0.48, 1.0))
        sun.set_direction(core.LVector3(*(-_SUN)))
        for light in (ambient, sun):
            self._root.set_light(self._root.attach_new_node(light))

    def _add_camera(self, target: Array, extent: float) -> None:
        core, (width, height) = self._core, self._size
        extent = max(extent, 0.05)
        lens = core.PerspectiveLens()
        lens.set_aspect_ratio(width / height)
        lens.set_min_fov(_FIELD)
        lens.set_near_far(0.02 * extent, 200.0 * extent)
        distance = 0.5 * extent / np.sin(0.5 * np.radians(_FIELD))  # a sphere around everything is in view
        direction = np.array([0.52, -0.72, 0.33])
        self._eye = target + distance * direction / np.linalg.norm(direction)
        self._camera = self._root.attach_new_node(core.Camera("camera", lens))
        self._camera.set_pos(*self._eye)
        self._camera.look_at(core.LPoint3(*target), core.LVector3(0.0, 0.0, 1.0))
        self._buffer.make_display_region().set_camera(self._camera)

    def _add_grid(self, middle: Array, extent: float, floor: float) -> None:
        """Lines on the floor, as short strips: the renderer drops what reaches behind the camera."""
        cell = 10.0 ** np.round(np.log10(max(extent, 0.05))) / 2.0
        center = np.round(middle[:2] / cell) * cell
        half, width = 20 * cell, 0.006 * max(extent, 0.05)
        strips = []
        for k in range(-20, 21):
            for axis in (0, 1):
                for start in np.arange(-half, half, cell):
                    corners = np.zeros((4, 3))
                    corners[:, axis] = k * cell + width * np.array([-0.5, 0.5, 0.5, -0.5])
                    corners[:, 1 - axis] = start + cell * np.array([0.0, 0.0, 1.0, 1.0])
                    strips.append(corners)
        vertices = np.concatenate(strips) + np.array([*center, floor + 5e-4 * extent])
        first = 4 * np.arange(len(strips))[:, None]
        faces = np.concatenate([first + np.array(corners) for corners in ((0, 1, 2), (0, 2, 3))])
        grid = self._node(Surface(vertices, faces))
        grid.reparent_to(self._root)
        grid.set_light_off(1)
        grid.set_color((*_GRID, 1.0), 1)
        grid.set_two_sided(True)

    def _add_shadow(self, floor: float) -> None:
        """The robot again, flattened along the sun's rays onto the floor."""
        flat = np.eye(4)[:3]
        flat[:2, 2] = -_SUN[:2] / _SUN[2]
        flat[:2, 3] = floor * _SUN[:2] / _SUN[2]
        flat[2] = (0.0, 0.0, 1e-4, floor + 1e-3)  # not quite flat: Panda3D inverts it
        shadow = self._root.attach_new_node("shadow")
        shadow.set_mat(self._matrix(flat))
        shadow.node().set_bounds(
            self._core.OmniBoundingVolume()
        )  # that inverse is too coarse to decide what is in view
        shadow.node().set_final(True)
        self._robot.instance_to(shadow)
        shadow.set_light_off(1)
        shadow.set_material_off(1)
        shadow.set_color((0.68, 0.69, 0.72, 1.0), 1)
