"""Pages of the API reference: a page for each group of public names, written anew by every build of the site."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import featherweight as fw

#: Page, title, and the names on it, in the order in which they are met.
GROUPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "models": (
        "Models",
        (
            *("load", "loads", "to_mjcf", "Model", "ModelBuilder", "ModelDescription", "models", "convert"),
            "decomposed",
            *("Geometry", "Inertia", "solid_inertia", "pose", "Material", "ContactLaw", "ContactPair", "Medium"),
            *("FluidShape", "Actuator", "Activation", "Muscle", "Closure", "Coupling", "Keyframe", "Mimic", "Tendon"),
            "Strut",
            "Bend",
            *("ImportReport", "ImportNote", "Severity", "ModelError", "ModelImportError"),
        ),
    ),
    "functions": (
        "Kinematics and dynamics",
        (
            *("forward_kinematics", "frame_placement", "frame_velocity", "frame_acceleration", "jacobian"),
            *("rnea", "aba", "crba", "minverse", "bias_forces", "gravity_forces", "center_of_mass"),
            *("centroidal_momentum", "kinetic_energy", "potential_energy"),
            *("log3", "exp3", "log6", "exp6", "rotation_from_quaternion", "quaternion_from_rotation"),
            *("quaternion_multiply", "quaternion_slerp", "build_info"),
        ),
    ),
    "constraints": (
        "Constraints",
        (
            *("PointConstraint", "FrameConstraint", "HingeConstraint", "DistanceConstraint", "JointCoupling"),
            *("JointCombination", "ConstraintSet", "constraints_of", "constrained_dynamics", "ConstrainedSolution"),
            *("impulse_dynamics", "ImpulseSolution", "constrained_inverse_dynamics", "InverseSolution"),
            *("constraint_jacobian", "constraint_bias", "constraint_velocity", "constraint_residual"),
            *("constraint_position_error", "delassus", "delassus_inverse", "DelassusOperator"),
            *("operational_space_inertia", "close_loops", "ClosedLoops", "project_velocity", "loop_error"),
            *("loop_jacobian", "mobility", "Mobility"),
        ),
    ),
    "derivatives": (
        "Derivatives",
        (
            *("rnea_derivatives", "RneaDerivatives", "rnea_vjp", "aba_derivatives", "AbaDerivatives", "aba_vjp"),
            *("constrained_dynamics_derivatives", "ConstrainedDerivatives", "impulse_dynamics_derivatives"),
            *("ImpulseDerivatives", "frame_velocity_derivatives", "FrameVelocityDerivatives"),
            *("frame_acceleration_derivatives", "FrameAccelerationDerivatives", "jacobian_time_derivative"),
            *("center_of_mass_derivatives", "CenterOfMassDerivatives", "centroidal_momentum_derivatives"),
            *("CentroidalMomentumDerivatives", "StepDerivatives", "Gradient", "RolloutGradient", "Linearisation"),
            *("smooth", "Smoothed", "smooth_step", "SmoothedStep"),
            *("relaxed", "Relaxed", "RelaxedRollout", "relaxed_step", "RelaxedStep", "torch", "jax"),
        ),
    ),
    "simulation": (
        "Scenes and simulation",
        (
            *("Scene", "SceneObject", "CompiledScene", "CompiledShape", "PairTable", "Body", "Plane", "HeightField"),
            *("box", "sphere", "capsule", "cylinder", "ellipsoid", "convex", "mesh"),
            *("Simulator", "State", "Trajectory", "Parameters", "Contacts", "Forces", "Closures", "Couplings"),
            *("StepSolution", "SolvedRows", "Automatic", "GaussSeidel", "Newton", "ADMM", "SimulationWarning"),
            *("IMU", "JointSensor", "FrameSensor", "ForceTorque", "ContactForceSensor", "NamedSensor"),
            "named_sensors",
        ),
    ),
    "control": (
        "Control",
        (
            *("inverse_kinematics", "InverseKinematicsSolution", "Spline", "SplinePoint", "torque_regressor"),
            "inertial_parameters",
        ),
    ),
    "viewing": ("Viewing", ("view", "LiveView", "draw")),
}
#: Modules on a page with others, named like the package that they need.
OPTIONAL = ("torch", "jax")
#: Modules with pages of their own.
MODULES = {
    "gym": "Environments",
    "learn": "Learning",
    "mpc": "Planning and control",
    "planning": "Planning with tools",
    "cluster": "On several machines",
    "reference": "NumPy twins",
}


def groups() -> dict[str, tuple[str, tuple[str, ...]]]:
    """All of them; public names that are in none are on a page of their own."""
    placed = {name for _, names in GROUPS.values() for name in names} | set(MODULES)
    rest = tuple(name for name in fw.__all__ if name not in placed)
    return GROUPS | ({"more": ("More", rest)} if rest else {})


def write(folder: Path) -> None:
    """One Markdown file for each group, and an index."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.md"):  # of groups that are no more
        old.unlink()
    pages = groups()
    for page, (title, names) in pages.items():
        (folder / f"{page}.md").write_text(_page(title, [name for name in names if name in fw.__all__]))
    for name, title in MODULES.items():
        (folder / f"{name}.md").write_text(_module_page(title, getattr(fw, name)))
    index = ["# API reference", "", "Everything is reached as `fw.name` after `import featherweight as fw`.", ""]
    index += ["```{toctree}", *pages, *MODULES, "```", ""]
    (folder / "index.md").write_text("\n".join(index))


def _page(title: str, names: list[str]) -> str:
    lines = [f"# {title}", ""]
    for name in names:
        lines += [f"## {name}", "", "```{eval-rst}", *_directive("featherweight", name, getattr(fw, name)), "```", ""]
    return "\n".join(lines)


def _module_page(title: str, package: ModuleType) -> str:
    module = package.__name__
    lines = [f"# {title}", "", "```{eval-rst}", f".. automodule:: {module}", "   :no-members:", "```", ""]
    for name in package.__all__ if package is not fw.reference else ():  # twins are for reading
        thing = getattr(package, name)
        if name == "Array":  # NumPy's
            continue
        lines += [f"## {name}", "", "```{eval-rst}", *_directive(module, name, thing), "```", ""]
    return "\n".join(lines)


def _directive(module: str, name: str, thing: object) -> list[str]:
    if isinstance(thing, type):
        return [f".. autoclass:: {module}.{name}", "   :members:"]
    if name in OPTIONAL and find_spec(name) is None:
        return [f".. automodule:: {module}.{name}"]
    if isinstance(thing, ModuleType):
        members = f"   :members: {', '.join(thing.__all__)}"
        return [f".. automodule:: {module}.{name}", "   :imported-members:", members]
    if callable(thing):
        return [f".. autofunction:: {module}.{name}"]
    return [f".. autodata:: {module}.{name}"]
