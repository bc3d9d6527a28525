"""Models, scenes and motions in the browser."""

from __future__ import annotations

import os
import tempfile
import warnings
import webbrowser
from pathlib import Path
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import real_numbers
from ..model.model import Model
from .animation import Animated, Animation
from .live import LiveView
from .page import save_page
from .world import World


@overload
def view(
    what: Model | Animated,
    q: ArrayLike | None = None,
    *,
    live: Literal[False] = False,
    path: str | os.PathLike[str] | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    open_browser: bool = True,
) -> Path: ...


@overload
def view(
    what: Model | Animated,
    q: ArrayLike | None = None,
    *,
    live: Literal[True],
    path: str | os.PathLike[str] | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    open_browser: bool = True,
) -> LiveView: ...


@overload
def view(
    what: Model | Animated,
    q: ArrayLike | None = None,
    *,
    live: bool,
    path: str | os.PathLike[str] | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    open_browser: bool = True,
) -> Path | LiveView: ...


def view(
    what: Model | Animated,
    q: ArrayLike | None = None,
    *,
    live: bool = False,
    path: str | os.PathLike[str] | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    open_browser: bool = True,
) -> Path | LiveView:
    """Show a model, a simulator, a state or a trajectory in the browser; returns the path of the page or the live view.

    A model is shown at ``q`` (nq,), by default its initial configuration, with a slider for each joint. A trajectory
    is played. The page is a single file that works offline; it is saved at ``path``, by default in a temporary folder.

    live: serve a page that follows :meth:`LiveView.update` instead, for a running simulation; needs the extra
    ``featherweight[view]``. host and port: the address of the page, by default a free port of this machine.

    >>> page = fw.view(fw.models.arm(), open_browser=False)
    >>> page.suffix
    '.html'
    """
    animation = _animation(what, q)
    if live:
        shown = LiveView(animation.world, animation.q[:, 0], animation.title, host=host, port=port)
        if isinstance(what, Model):
            shown.add_joint_sliders()
        if open_browser:
            _open(shown.url)
        return shown
    if path is None:
        path = Path(tempfile.mkdtemp(prefix="featherweight_")) / "view.html"
    target = Path(path)
    save_page(animation, target)
    if open_browser:
        _open(target.absolute().as_uri())
    return target


def _open(url: str) -> None:
    if not webbrowser.open(url):
        warnings.warn(f"no browser could be started here: open {url} in one", stacklevel=3)


def _animation(what: Model | Animated, q: ArrayLike | None) -> Animation:
    if isinstance(what, Model):
        values = what.q0 if q is None else real_numbers("q", q)
        if values.shape != (what.nq,):
            raise ValueError(f"q: expected one configuration, shape ({what.nq},), got {values.shape}")
        return Animation(World.of(what), what.name, np.zeros(1), values[None, None])
    if q is not None:
        raise ValueError("q can be given for a model only; a simulator, a state and a trajectory have their own")
    if not isinstance(what, Animated):
        raise ValueError(f"view: expected a model, a simulator, a state or a trajectory, got {type(what).__name__}")
    return what.animation()
