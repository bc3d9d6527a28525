"""A Pinocchio model beside one of ours, with states mapped joint by joint by name.

Their velocity is ``T(q) v``: joints in another order, and planar joints in their moving frame. T is orthogonal.
Written apart from ``fw.convert`` on purpose: that module is under test too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import featherweight as fw
from featherweight.arrays import Array

from .forests import State


class PinocchioTwin:
    """``model`` evaluated by Pinocchio: coordinates in and out are ours."""

    def __init__(self, pin: Any, pin_model: Any, model: fw.Model) -> None:
        self.pin, self.pin_model, self.model = pin, pin_model, model
        self.data = pin_model.createData()
        names = [str(name) for name in pin_model.names][1:]  # the first is the universe
        self.joints = [(pin_model.joints[i + 1], model.joint(name)) for i, name in enumerate(names)]
        assert sorted(names) == sorted(model.joint_names)
        for theirs, ours in self.joints:  # what an import gave to joints that move no mass
            pin_model.armature[theirs.idx_v : theirs.idx_v + theirs.nv] = ours.armature

    def q(self, q: Array) -> Array:
        result = np.zeros(self.pin_model.nq)
        for theirs, ours in self.joints:
            value = q[ours.q_slice]
            if theirs.nq == ours.nq + 1:  # an angle as a point on the circle
                value = np.array([*value[:-1], np.cos(value[-1]), np.sin(value[-1])])
            result[theirs.idx_q : theirs.idx_q + theirs.nq] = value
        return result

    def T(self, q: Array) -> Array:
        """(nv, nv): their velocity of ours."""
        T = np.zeros((self.model.nv, self.model.nv))
        for theirs, ours in self.joints:
            block = np.eye(ours.nv)
            if ours.type == "planar":
                c, s = np.cos(q[ours.q_slice][2]), np.sin(q[ours.q_slice][2])
                block[:2, :2] = [[c, s], [-s, c]]
            T[theirs.idx_v : theirs.idx_v + theirs.nv, ours.v_slice] = block
        return T

    def v(self, q: Array, v: Array) -> Array:
        return np.asarray(self.T(q) @ v)

    def a(self, q: Array, v: Array, a: Array) -> Array:
        """d/dt (T v)."""
        result = self.T(q) @ a
        for theirs, ours in self.joints:
            if ours.type == "planar":
                x, y, rate = (self.T(q) @ v)[theirs.idx_v : theirs.idx_v + 3]
                result[theirs.idx_v : theirs.idx_v + 2] += [rate * y, -rate * x]
        return np.asarray(result)

    def external_forces(self, f_ext: Array) -> Any:
        """Ours act on links; Pinocchio's on joints, where fixed links are merged."""
        total = [self.pin.Force.Zero() for _ in range(self.pin_model.njoints)]
        for name, wrench in zip(self.model.link_names, f_ext, strict=True):
            frame = self.pin_model.frames[self.frame(name)]
            total[frame.parentJoint] += frame.placement.act(self.pin.Force(wrench[:3], wrench[3:]))
        forces = self.pin.StdVec_Force()
        forces.extend(total)
        return forces

    def frame(self, link: str) -> int:
        theirs = "world" if link == "world_link" else link  # the name "world" is reserved here
        return int(self.pin_model.getFrameId(theirs, self.pin.FrameType.BODY))

    def rnea(self, q: Array, v: Array, a: Array, f_ext: Array) -> Array:
        state = self.q(q), self.v(q, v), self.a(q, v, a)
        tau = self.pin.rnea(self.pin_model, self.data, *state, self.external_forces(f_ext))
        return np.asarray(self.T(q).T @ tau)

    def aba(self, s: State) -> Array:
        state = self.q(s.q), self.v(s.q, s.v), self.T(s.q) @ s.tau
        a = self.pin.aba(self.pin_model, self.data, *state, self.external_forces(s.f_ext))
        return np.asarray(self.T(s.q).T @ (a - self.a(s.q, s.v, np.zeros_like(s.v))))

    def crba(self, q: Array) -> Array:
        return self._symmetric(q, self.pin.crba(self.pin_model, self.data, self.q(q)))

    def minverse(self, q: Array) -> Array:
        return self._symmetric(q, self.pin.computeMinverse(self.pin_model, self.data, self.q(q)))

    def _symmetric(self, q: Array, upper: Array) -> Array:
        full = np.triu(upper) + np.triu(upper, 1).T  # only the upper triangle is promised
        return np.asarray(self.T(q).T @ full @ self.T(q))
