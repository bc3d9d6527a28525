"""A robot with actuators of every kind: on tendons and sites, muscles, with activations; and weight that is carried."""

from __future__ import annotations

#: An arm whose tendon runs over a hinge and a slide, and a drone beside it.
ROBOT = """<mujoco><option timestep="{dt}"/>
<default><geom contype="0" conaffinity="0"/></default><worldbody>
<body name="upper" pos="0 0 1" {upper}><joint name="a" axis="0 1 0"/>
  <geom type="capsule" size="0.04" fromto="0 0 0 0 0 -0.4" mass="1"/><site name="s" pos="0.05 0 -0.2" euler="20 30 40"/>
  <body name="cap" pos="0 0.1 0" {cap}><geom size="0.03" mass="0.4"/></body>
  <body name="fore" pos="0 0 -0.4" {fore}><joint name="b" type="slide" axis="1 0 0.2"/>
    <geom type="capsule" size="0.04" fromto="0 0 0 0.1 0 -0.4" mass="0.8"/></body></body>
<body name="drone" pos="1 0 1" {drone}><freejoint/><geom type="box" size="0.1 0.1 0.03" pos="0 0.02 0.01" mass="0.5"/>
  <site name="rotor" pos="0.1 0.1 0" euler="10 0 0"/>
  <body name="ball" pos="0 0 -0.1" {ball}><joint name="c" type="ball"/>
    <geom size="0.05" pos="0 0 -0.1" mass="0.2"/></body>
</body></worldbody>
<tendon><fixed name="t"><joint joint="a" coef="0.7"/><joint joint="b" coef="-1.3"/></fixed></tendon>
<actuator>{actuators}</actuator>{more}</mujoco>"""
BODIES = ("upper", "cap", "fore", "drone", "ball")

GENERAL = '<general joint="a" gainprm="2" '
ON_TENDON = '<general tendon="t" dyntype="filter" dynprm="0.1" gainprm="3" '
LAWS = {
    "filter": GENERAL + 'dyntype="filter" dynprm="0.05" biastype="affine" biasprm="0.1 -3 -0.2"/>',
    "early filter": GENERAL + 'dyntype="filter" dynprm="0.05" actearly="true"/>',
    "exact filter": GENERAL + 'dyntype="filterexact" dynprm="0.02" forcerange="-0.5 0.3"/>',
    "integrator": GENERAL + 'dyntype="integrator" actrange="-0.5 0.6" actlimited="true"/>',
    "intvelocity": '<intvelocity joint="b" kp="4" kv="0.3" actrange="-1 1"/>',
    "muscle on a joint": '<muscle joint="a" lengthrange="-1 1" force="30"/>',
    "muscle by its scale": '<muscle joint="b" gear="-2" lengthrange="-1.2 1.5" scale="50" range="0.6 1.1"/>',
    "muscle that changes smoothly": '<muscle tendon="t" lengthrange="-1 1.5" tausmooth="0.3" timeconst="0.02 0.05"/>',
    "muscle with other curves": '<muscle tendon="t" lengthrange="-2 2" lmin="0.3" lmax="1.9" vmax="3" fpmax="0.4"/>',
    "muscle that is strong when it is stretched": '<muscle tendon="t" lengthrange="-2 2" fvmax="1.7"/>',
    "muscle without dynamics": '<general joint="a" gaintype="muscle" lengthrange="-1 1" '
    'gainprm="0.7 1.1 20 200 0.5 1.6 1.5 1.3 1.2"/>',
    "servo on a tendon": '<position tendon="t" kp="5" kv="0.2" gear="1.5" forcerange="-1.5 2"/>',
    "filtered servo on a tendon": ON_TENDON + 'biastype="affine" biasprm="0.1 -3 0"/>',
    "damper on a tendon": '<damper tendon="t" kv="2" ctrlrange="0 1"/>',
    "filtered motor on a tendon": ON_TENDON + "/>",
    "gain that grows": '<general joint="b" gaintype="affine" gainprm="1 2 3"/>',
    "bias that grows": '<general joint="b" biastype="affine" biasprm="0.5 1 2"/>',
    "thruster": '<motor site="rotor" gear="0 0 1 0 0 -0.02" ctrlrange="0 5"/>',
    "thruster with a bias": '<general site="s" gear="1 2 3 0.1 0.2 0.3" gainprm="2" forcerange="-1 1" '
    'biastype="affine" biasprm="0.4"/>',
    "cylinder": '<cylinder joint="a" timeconst="0.3" area="0.2" bias="0.1 -0.2 -0.3"/>',
    "two that share a joint of limited effort": GENERAL + 'dyntype="filter" dynprm="0.05"/>' + '<motor joint="a"/>',
}
ALL = "".join(LAWS.values())


def robot(actuators: str, more: str = "", dt: float = 1e-7, carried: dict[str, float] | None = None) -> str:
    """carried: shares of the weight of bodies."""
    shares = {name: f'gravcomp="{share}"' for name, share in (carried or {}).items()}
    return ROBOT.format(dt=dt, actuators=actuators, more=more, **(dict.fromkeys(BODIES, "") | shares))
