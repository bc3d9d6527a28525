"""The same cases in MuJoCo, described in its own format: what featherweight's numbers are shown beside.

Each function measures what its namesake elsewhere in this package does. ``options`` are attributes of MuJoCo's
<option>, such as cone="elliptic" impratio="100"; contact parameters stay at their defaults unless said otherwise.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from featherweight.arrays import Array
from physics import disc, passing, turning
from physics.impacts import HEIGHT, ROD, ROD_RATE, ROD_VELOCITY
from physics.incline import EDGE, downhill, sliding_acceleration
from physics.loads import TABLE_FOOT, TABLE_HALF, TABLE_HEIGHT, TABLE_MASS
from physics.motion import GRAVITY, steps
from physics.smooth import zero_crossings
from physics.thin import lowest

EXPLODED = 1e3  # times the energy: far from where MuJoCo itself notices, and starts again from rest


def installed() -> str | None:
    """MuJoCo's version, or None."""
    return importlib.metadata.version("mujoco") if importlib.util.find_spec("mujoco") else None


def compiled(body: str, dt: float, options: str = "", gravity: float = GRAVITY) -> tuple[Any, Any]:
    import mujoco

    text = f"""<mujoco>
      <option timestep="{dt!r}" gravity="0 0 {-gravity!r}" {options}/>
      <size memory="256M"/>
      <worldbody>{body}</worldbody>
    </mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    return model, mujoco.MjData(model)


def advanced(model: Any, data: Any, n: int) -> Any:
    import mujoco

    mujoco.mj_step(model, data, n)
    return data


def _incline(theta: float, frictions: Sequence[float], dt: float, options: str, geom: str) -> tuple[Any, Any]:
    turn = math.degrees(theta)
    body = f'<geom type="plane" size="0 0 1" euler="0 {turn!r} 0" friction="0 0 0" {_DIM}/>'
    for k, mu in enumerate(frictions):
        x, z = 0.5 * EDGE * math.sin(theta), 0.5 * EDGE * math.cos(theta)
        body += f'<body pos="{x!r} {3 * EDGE * k} {z!r}" euler="0 {turn!r} 0"><freejoint/>'
        body += f'<geom {geom} friction="{mu} 0 0" {_DIM}/></body>'
    return compiled(body, dt, options)


_DIM = 'condim="3"'
_BOX = f'type="box" size="{EDGE / 2} {EDGE / 2} {EDGE / 2}"'
_BALL = f'type="sphere" size="{EDGE / 2}"'


def creep(
    theta: float, frictions: Sequence[float], *, dt: float = 1e-3, seconds: float = 10.0, options: str = ""
) -> Array:
    """Mean speed downhill [m/s] over ``seconds`` after one to settle, (frictions,)."""
    model, data = _incline(theta, frictions, dt, options, _BOX)
    start = advanced(model, data, steps(1.0, dt)).qpos.reshape(-1, 7)[:, :3].copy()
    advanced(model, data, steps(seconds, dt))
    return np.asarray(np.abs((data.qpos.reshape(-1, 7)[:, :3] - start) @ downhill(theta)) / seconds)


def path_downhill(
    theta: float, mu: float, *, dt: float = 1e-3, seconds: float = 10.0, samples: int = 100, options: str = ""
) -> Array:
    """Distance downhill [m] at ``samples`` times."""
    model, data = _incline(theta, (mu,), dt, options, _BOX)
    start = data.qpos[:3].copy()
    n = steps(seconds / samples, dt)
    return np.array([(advanced(model, data, n).qpos[:3] - start) @ downhill(theta) for _ in range(samples)])


def sliding_errors(
    theta: float, frictions: Sequence[float], *, dt: float = 1e-3, seconds: float = 3.0, options: str = ""
) -> Array:
    model, data = _incline(theta, frictions, dt, options, _BOX)
    advanced(model, data, steps(seconds, dt))
    exact = seconds * np.array([sliding_acceleration(theta, mu) for mu in frictions])
    return np.asarray(np.abs(data.qvel.reshape(-1, 6)[:, :3] @ downhill(theta) / exact - 1.0))


def rolling_error(theta: float, mu: float, exact: float, *, dt: float = 1e-3, seconds: float = 3.0) -> float:
    model, data = _incline(theta, (mu,), dt, "", _BALL)
    advanced(model, data, steps(seconds, dt))
    return abs(float(data.qvel[:3] @ downhill(theta)) / (exact * seconds) - 1.0)


def stopping_distance(mu: float, v0: float, *, direction: float = 0.0, dt: float = 1e-3) -> float:
    model, data = _incline(0.0, (mu,), dt, "", _BOX)
    data.qvel[:2] = v0 * math.cos(direction), v0 * math.sin(direction)
    advanced(model, data, math.ceil((v0 / (mu * GRAVITY) + 0.1) / dt))
    return float(np.linalg.norm(data.qpos[:2]))


def slide_to_roll_speed(v0: float, mu: float, *, dt: float = 1e-3) -> float:
    model, data = _incline(0.0, (mu,), dt, "", _BALL)
    data.qvel[0] = v0
    advanced(model, data, math.ceil(3.0 * v0 / (7.0 * mu * GRAVITY) / dt))
    return float(data.qvel[0])


def slowing_rate(
    friction: str, condim: int, v: Sequence[float], which: int, seconds: float, *, dt: float = 1e-3
) -> float:
    """Deceleration of a ball on the flat that starts with velocities ``v`` (6,), its spin included."""
    surface = f'friction="{friction}" condim="{condim}"'
    body = f'<geom type="plane" size="0 0 1" {surface}/><body pos="0 0 {EDGE / 2}"><freejoint/>'
    model, data = compiled(f"{body}<geom {_BALL} {surface}/></body>", dt)
    data.qvel[:] = v
    advanced(model, data, steps(seconds, dt))
    return (float(v[which]) - float(data.qvel[which])) / seconds


def stack_drift(
    masses: Sequence[float], *, edge: float = 0.2, friction: float = 0.6, dt: float = 1e-3, seconds: float = 10.0
) -> float:
    """Largest distance of any box from where it began [m]."""
    body = f'<geom type="plane" size="0 0 1" friction="{friction} 0 0"/>'
    for k, mass in enumerate(masses):
        body += f'<body pos="0 0 {edge * (k + 0.5)!r}"><freejoint/>'
        body += (
            f'<geom type="box" size="{edge / 2} {edge / 2} {edge / 2}" mass="{mass}" friction="{friction} 0 0"/></body>'
        )
    model, data = compiled(body, dt)
    start = data.qpos.reshape(-1, 7)[:, :3].copy()
    advanced(model, data, steps(seconds, dt))
    return float(np.linalg.norm(data.qpos.reshape(-1, 7)[:, :3] - start, axis=1).max())


def plate_depth(size: Sequence[float], height: float, *, dt: float, seconds: float) -> float:
    """How deep a plate of ``size`` [m] dropped flat from ``height`` gets into the ground, at most [m]."""
    half = " ".join(repr(0.5 * edge) for edge in size)
    body = f'<geom type="plane" size="0 0 1"/><body pos="0 0 {0.5 * size[2] + height!r}"><freejoint/>'
    model, data = compiled(f'{body}<geom type="box" size="{half}"/></body>', dt)
    q = _followed(model, data, steps(seconds, dt), lambda: -lowest(data.qpos[[0, 1, 2, 4, 5, 6, 3]], size))
    return float(q.max())


def table_error(*, dt: float = 2e-3, seconds: float = 1.0, friction: float = 0.8) -> float:
    """Largest force on a foot that is not its quarter of the weight, over that."""
    import mujoco

    (x, y), r = TABLE_HALF, TABLE_FOOT
    body = f'<geom type="plane" size="0 0 1" friction="{friction} 0 0" {_DIM}/><body><freejoint/>'
    body += f'<inertial pos="0 0 {TABLE_HEIGHT}" mass="{TABLE_MASS}" diaginertia="0.2 0.4 0.5"/>'
    for sx, sy in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        body += (
            f'<geom type="sphere" size="{r}" pos="{sx * x} {sy * y} {r}" mass="0" friction="{friction} 0 0" {_DIM}/>'
        )
    model, data = compiled(body + "</body>", dt)
    advanced(model, data, steps(seconds, dt))
    force, share = np.zeros((data.ncon, 6)), 0.25 * TABLE_MASS * GRAVITY
    for k in range(data.ncon):
        mujoco.mj_contactForce(model, data, k, force[k])  # along the normal first
    return float(np.hypot(force[:, 0] - share, np.hypot(force[:, 1], force[:, 2])).max() / share)


def pile_penetration(
    places: Array,
    *,
    radius: float = 0.1,
    mass: float = 10.0,
    friction: float = 0.8,
    dt: float,
    seconds: float,
    every: float,
) -> float:
    """Mean overlap [m] of balls dropped from ``places`` (n, 3)."""
    body = f'<geom type="plane" size="0 0 1" friction="{friction} 0 0"/>'
    for x, y, z in places:
        body += f'<body pos="{float(x)!r} {float(y)!r} {float(z)!r}"><freejoint/>'
        body += f'<geom type="sphere" size="{radius}" mass="{mass}" friction="{friction} 0 0"/></body>'
    model, data = compiled(body, dt)
    overlaps = []
    for _ in range(steps(seconds, every)):
        advanced(model, data, steps(every, dt))
        if data.ncon:
            overlaps.append(float(np.maximum(-data.contact.dist, 0.0).mean()))
    return float(np.mean(overlaps))


def far_rebound(*, rod: bool, dt: float = 1e-4, seconds: float = 0.02) -> float:
    """Velocity [m/s] at which a ball leaves the ground that it hits at 2 m/s, with a rod that lands 50 m away."""
    half, radius, angle, mass = ROD
    springy = 'solref="-1e5 -1" friction="0.6 0 0" condim="3"'
    body = f'<geom type="plane" size="0 0 1" {springy}/>'
    body += f'<body pos="50 0 {0.1 + HEIGHT}"><freejoint/><geom type="sphere" size="0.1" {springy}/></body>'
    if rod:
        z = half * math.cos(angle) + radius + HEIGHT
        body += f'<body pos="0 0 {z!r}" euler="0 {math.degrees(angle)!r} 0"><freejoint/>'
        body += f'<geom type="capsule" size="{radius} {half}" mass="{mass}" {springy}/></body>'
    model, data = compiled(body, dt, gravity=0.0)
    data.qvel[2] = -2.0
    if rod:  # the linear velocity of a free joint is in world axes
        data.qvel[6:12] = (ROD_VELOCITY[0], 0, ROD_VELOCITY[1], 0, ROD_RATE, 0)
    return float(advanced(model, data, steps(seconds, dt)).qvel[2])


def tumbling_crossings(*, dt: float = 1e-3, seconds: float = 10.6) -> Array:
    """Times [s] at which the middle component of the angular velocity is zero, by MuJoCo's RK4."""
    body = '<body><joint type="ball"/><inertial pos="0 0 0" mass="1" diaginertia="1 2 3"/></body>'
    model, data = compiled(body, dt, 'integrator="RK4"', gravity=0.0)
    data.qvel[:] = 0.01, 5.0, 0.0
    return zero_crossings(_followed(model, data, steps(seconds, dt), lambda: data.qvel[1]), dt)


def pendulum_period(exact: float, *, dt: float = 1e-3) -> float:
    """Period [s] of 1 kg on 1 m released horizontally, by MuJoCo's RK4, over ten swings."""
    inertial = '<inertial pos="0 0 -1" mass="1" diaginertia="1e-15 1e-15 1e-15"/>'
    body = f'<body><joint type="hinge" axis="0 1 0"/>{inertial}</body>'
    model, data = compiled(body, dt, 'integrator="RK4"')
    data.qpos[0] = 0.5 * math.pi
    down = zero_crossings(_followed(model, data, math.ceil(11.0 * exact / dt), lambda: data.qpos[0]), dt)
    return float(down[20] - down[0]) / 10.0


def _geom(kind: str, friction: float) -> str:
    half = passing.EDGE / 2
    types = {"box": f'type="box" size="{half} {half} {half}"', "ball": f'type="sphere" size="{half}"'}
    types["cylinder"] = f'type="cylinder" size="{half} {half}"'
    dim = 3 if friction > 0.0 else 1
    return f'<geom {types[kind]} friction="{friction} 0 0" condim="{dim}"/>'


def fly_by(kind: str, speed: float, *, gap: float = 1e-3, dt: float = 2e-3, start: float = -0.5037) -> float:
    body = f'<body pos="{start} {passing.EDGE + gap} 0.01"><freejoint/>{_geom(kind, 0.5)}</body>'
    model, data = compiled(f"{body}<body><freejoint/>{_geom(kind, 0.5)}</body>", dt, gravity=0.0)
    data.qvel[0] = speed
    before = data.qvel.copy()
    advanced(model, data, math.ceil(2 * abs(start) / speed / dt))
    return float(np.abs(data.qvel - before).max())


def loss_over_tiles(kind: str, speed: float, *, lying: bool = False, dt: float = 2e-3, count: int = 6) -> float:
    tile, half = passing.TILE, passing.EDGE / 2
    body = "".join(
        f'<geom type="box" size="{tile / 2} 0.5 0.1" pos="{(k + 0.5) * tile} 0 -0.1" friction="0 0 0" condim="1"/>'
        for k in range(count)
    )
    turn = 'euler="90 0 0"' if lying else ""
    model, data = compiled(f'{body}<body pos="0.11 0 {half}" {turn}><freejoint/>{_geom(kind, 0.0)}</body>', dt)
    data.qvel[0] = speed
    x = np.concatenate(
        ([0.11], _followed(model, data, math.floor((count * tile - 0.35) / speed / dt), lambda: data.qpos[0])[1:])
    )
    return passing.loss(np.diff(x) / dt, speed)


def rod_energy(speed: float, *, dt: float = 1e-3, seconds: float = 60.0, options: str = "") -> float:
    """Largest relative change of energy of a rod that a connect holds at its end, as in physics/turning.py."""
    half = turning.ROD_LENGTH / 2
    rod = f'<body name="rod"><freejoint/><geom type="capsule" size="0.01 {half}" mass="1" contype="0"/></body>'
    held = f'</worldbody><equality><connect body1="rod" anchor="0 0 {half}"/></equality><worldbody>'
    model, data = compiled(rod + held, dt, options, gravity=0.0)
    data.qvel[:] = -speed * half, 0, 0, 0, speed, 0
    return _energy_change(model, data, steps(seconds, dt))


def crank_energy(speed: float, *, dt: float = 1e-3, seconds: float = 60.0, options: str = "") -> float:
    """The same of a crank and rocker, whose loop a connect closes."""
    a, b, c = turning.BARS.values()

    def bar(name: str, x: float, length: float, inside: str = "") -> str:
        inertia = f"1e-5 {length**3 / 4} {length**3 / 4}"
        joint = f'<joint name="{name}" type="hinge" axis="0 1 0"/>'
        inertial = f'<inertial pos="{length / 2} 0 0" mass="{3 * length}" diaginertia="{inertia}"/>'
        return f'<body name="{name}" pos="{x} 0 0">{joint}{inertial}{inside}</body>'

    coupler = bar("coupler", a, b, f'<site name="tip" pos="{b} 0 0"/>')
    rocker = bar("rocker", turning.GROUND, c, f'<site name="end" pos="{c} 0 0"/>')
    held = '</worldbody><equality><connect site1="tip" site2="end"/></equality><worldbody>'
    model, data = compiled(bar("crank", 0.0, a, coupler) + rocker + held, dt, options, gravity=0.0)
    data.qpos[:] = turning.assembled(1.0)
    data.qvel[:] = speed * (turning.assembled(1.0 + 1e-6) - turning.assembled(1.0 - 1e-6)) / 2e-6
    return _energy_change(model, data, steps(seconds, dt))


def box_energy(speed: float, *, dt: float = 2e-3, seconds: float = 10.0, options: str = "") -> float:
    """The same of a free box that tumbles."""
    size = " ".join(str(edge / 2) for edge in turning.BOX_EDGES)
    model, data = compiled(f'<body><freejoint/><geom type="box" size="{size}"/></body>', dt, options, gravity=0.0)
    data.qvel[:] = (0.5, -1.0, 2.0, *(speed * turning.BOX_AXIS))
    return _energy_change(model, data, steps(seconds, dt))


def disc_tilt(tilt: float, *, dt: float = 1e-3, seconds: float = 0.25, options: str = "") -> float:
    """Largest change of the tilt of a disc that rolls on its rim, as in physics/disc.py."""
    R, place, w = disc.start(tilt)
    size, turn = f"{disc.RADIUS} {disc.THICKNESS / 2}", math.degrees(tilt)
    plane = '<geom type="plane" size="0 0 1" friction="1 0 0" condim="3"/>'
    body = f'<body pos="0 0 {float(place[2])!r}" euler="0 {turn!r} 0"><freejoint/>'
    rolls = f'<geom type="cylinder" size="{size}" mass="{disc.MASS}" friction="1 0 0" condim="3"/></body>'
    model, data = compiled(plane + body + rolls, dt, options)
    data.qvel[3:] = R.T @ w
    cosines = _followed(model, data, steps(seconds, dt), lambda: data.xmat[1, 8])[1:]
    return float(np.abs(np.arccos(np.clip(cosines, -1, 1)) - tilt).max())


def _energy_change(model: Any, data: Any, n: int) -> float:
    """Largest relative change of the kinetic energy in n steps; up to ``EXPLODED``, where it ends."""
    import mujoco

    product = np.zeros(model.nv)

    def energy() -> float:
        mujoco.mj_forward(model, data)
        mujoco.mj_mulM(model, data, product, data.qvel)
        return 0.5 * float(product @ data.qvel)

    start, change = energy(), 0.0
    mujoco.set_mju_user_warning(lambda *_: None)  # or it writes a file of what explodes
    try:
        for _ in range(n):
            mujoco.mj_step(model, data)
            change = max(change, abs(energy() / start - 1.0))
            if not change < EXPLODED:
                return EXPLODED
    finally:
        mujoco.set_mju_user_warning(None)
    return change


def _followed(model: Any, data: Any, n: int, look: Any) -> Array:
    values = [float(look())]
    for _ in range(n):
        advanced(model, data, 1)
        values.append(float(look()))
    return np.array(values)
