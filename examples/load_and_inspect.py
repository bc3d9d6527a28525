"""Load a robot from URDF, see what it is and what the file held besides, and keep it in a file of our own."""

import tempfile
from pathlib import Path

import numpy as np

import featherweight as fw

URDF = """
<robot name="crane">
  <link name="mast">
    <inertial><mass value="8"/><inertia ixx="0.5" iyy="0.5" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="boom">
    <inertial><origin xyz="0.5 0 0"/><mass value="3"/>
      <inertia ixx="0.01" iyy="0.25" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="hook">
    <inertial><mass value="0.5"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="slew" type="continuous">
    <parent link="mast"/><child link="boom"/><origin xyz="0 0 2"/><axis xyz="0 0 1"/>
    <limit effort="50" velocity="1"/><dynamics damping="0.2"/>
  </joint>
  <joint name="hoist" type="prismatic">
    <parent link="boom"/><child link="hook"/><origin xyz="1 0 0"/><axis xyz="0 0 -1"/>
    <limit lower="0" upper="1.8" effort="200" velocity="0.5"/>
  </joint>
  <transmission name="slew_gear"/>
</robot>
"""

model = fw.loads(URDF, "urdf")  # from a file: fw.load("crane.urdf")
print(model)
for joint in model.joints:
    print(f"  {joint!r}, effort up to {joint.effort_limit}")
print(model.import_report)  # nothing is dropped silently: the transmission is listed

# Where things are: names to slices of q and v, and placements of links in the world.
q = model.neutral()
q[model.joint("slew").q_slice] = np.pi / 2
q[model.joint("hoist").q_slice] = 1.5
hook = fw.frame_placement(model, q, "hook")
print("hook at", hook[:3, 3].round(3))

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "crane.json"
    model.save(file)
    again = fw.load(file)

assert np.allclose(hook[:3, 3], [0, 1, 0.5])
assert not model.import_report.not_honoured  # nothing that changes the physics
assert np.array_equal(fw.crba(again, q), fw.crba(model, q))  # the file is exact, bit for bit
