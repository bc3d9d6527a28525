"""Swing-up of a cart-pole and a quadruped's jump, both by iLQR through steps as they are, contacts included."""

import numpy as np

import featherweight as fw


class Task:
    """Bring x = (q from the goal, v) to zero with small inputs w: x W x / 2 + R |w|^2 / 2 in all.

    W: (steps, 2 nv) weights after every step; the control of a step is u0 + S w.
    """

    def __init__(
        self,
        sim: fw.Simulator,
        start: fw.State,
        goal: np.ndarray,
        W: np.ndarray,
        u0: np.ndarray,
        S: np.ndarray,
        R: float,
    ) -> None:
        self.sim, self.start, self.goal, self.W, self.u0, self.S, self.R = sim, start, goal, W, u0, S, R
        self.lengths = 0.6 ** np.arange(12)  # of steps to try

    def error(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.concatenate([self.sim.model.difference(np.broadcast_to(self.goal, q.shape), q), v], axis=-1)

    def cost(self, X: np.ndarray, U: np.ndarray) -> np.ndarray:
        return np.asarray(0.5 * ((X**2 * self.W).sum(axis=(-2, -1)) + self.R * (U**2).sum(axis=(-2, -1))))

    def back(
        self, lines: fw.Linearisation, X: np.ndarray, U: np.ndarray, damping: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Changes of inputs, and how they follow the state: a pass back in time."""
        (steps, nu), n = U.shape, X.shape[1]
        k, K = np.zeros((steps, nu)), np.zeros((steps, nu, n))
        p, P = np.zeros(n), np.zeros((n, n))
        for t in reversed(range(steps)):
            A, B = lines.A[t], lines.B[t] @ self.S
            p, P = p + self.W[t] * X[t], P + np.diag(self.W[t])
            by_u, by_uu, by_ux = self.R * U[t] + B.T @ p, self.R * np.eye(nu) + B.T @ P @ B, B.T @ P @ A
            held = by_uu + damping * np.trace(by_uu) / nu * np.eye(nu)
            k[t], K[t] = -np.linalg.solve(held, by_u), -np.linalg.solve(held, by_ux)
            p = A.T @ p + K[t].T @ (by_uu @ k[t] + by_u) + by_ux.T @ k[t]
            P = A.T @ P @ A + K[t].T @ by_uu @ K[t] + K[t].T @ by_ux + by_ux.T @ K[t]
            P = 0.5 * (P + P.T)
        return k, K

    def tried(self, trajectory: fw.Trajectory, U: np.ndarray, k: np.ndarray, K: np.ndarray) -> tuple[np.ndarray, float]:
        """The inputs of the best of several step lengths, which are rolled out as one batch."""
        n, model = len(self.lengths), self.sim.model
        state = self.sim.state(n, q=self.start.q, v=self.start.v)
        controls, X = np.empty((n, *U.shape)), np.empty((n, len(U), 2 * model.nv))
        for t in range(len(U)):
            u = U[t] + self.lengths[:, None] * k[t]
            if t > 0:
                q = np.broadcast_to(trajectory.q[t - 1], state.q.shape)
                away = np.concatenate([model.difference(q, state.q), state.v - trajectory.v[t - 1]], axis=1)
                u = u + away @ K[t].T
            state, controls[:, t] = self.sim.step(state, control=self.u0 + u @ self.S.T), u
            X[:, t] = self.error(state.q, state.v)
        costs = np.where(state.failed, np.inf, self.cost(X, controls))
        best = int(np.nanargmin(costs))
        return controls[best], float(costs[best])

    def solve(self, U: np.ndarray, rounds: int) -> tuple[np.ndarray, fw.Trajectory]:
        damping = 1e-6
        trajectory = self.sim.rollout(self.start, control=self.u0 + U @ self.S.T, tape=True)
        X = self.error(trajectory.q, trajectory.v)
        cost = first = float(self.cost(X, U))
        count = 0
        while count < rounds:
            count += 1
            k, K = self.back(self.sim.linearise(trajectory), X, U, damping)
            better, reached = self.tried(trajectory, U, k, K)
            if not reached < cost:
                damping = max(10.0 * damping, 1e-4)
                if damping > 1e3:
                    break
                continue
            settled = cost - reached < 1e-4 * cost
            U, cost, damping = better, reached, 0.3 * damping
            trajectory = self.sim.rollout(self.start, control=self.u0 + U @ self.S.T, tape=True)
            X = self.error(trajectory.q, trajectory.v)
            if settled:
                break
        print(f"  cost {first:.3g} to {cost:.3g} in {count} rounds of {len(U)} steps")
        return U, trajectory


def swing_up() -> None:
    builder = fw.ModelBuilder("cart_pole")
    builder.solid("cart", "box", (0.4, 0.2, 0.15), mass=2.0)
    builder.link("pole", mass=0.5, com=(0, 0, 0.8))  # upright at q = 0
    builder.joint("track", "prismatic", "world", "cart", axis="x")
    builder.joint("pivot", "revolute", "cart", "pole", axis="y", damping=0.02)
    scene = fw.Scene()
    scene.add(builder.build(), name="cart_pole")
    scene.motor(["cart_pole/track"])
    sim = fw.Simulator(scene, dt=0.02)
    steps = 125
    W = np.tile([0.0, 0.05, 0.0, 0.0], (steps, 1))
    W[-1] = 200.0, 2000.0, 200.0, 200.0
    start = sim.state(q=[0.0, np.pi])
    task = Task(sim, start, np.zeros(2), W, np.zeros(1), np.eye(1), R=2e-3)
    _, trajectory = task.solve(0.5 * np.sin(np.linspace(0, 6, steps))[:, None], rounds=150)
    x, angle = trajectory.q[-1]
    print(f"cart-pole: {np.degrees(angle):.2f} degrees from upright after {steps * sim.dt:.1f} s, at {x:.3f} m")
    assert abs(angle) < np.radians(2.0) and abs(x) < 0.05 and np.abs(trajectory.v[-1]).max() < 0.1


def jump() -> None:
    scene = fw.Scene(ground=fw.Plane(friction=0.8))
    robot = scene.add(fw.models.quadruped(), name="robot", pose=(0, 0, 0.43))
    scene.servo(robot, kp=120.0, kd=4.0)
    sim = fw.Simulator(scene, dt=0.01, integrator="implicit")
    stance = np.tile([0.0, 0.8, -1.6], 4)
    rest = sim.rollout(sim.state(), control=stance, n_steps=150).final
    start = sim.state(q=rest.q, v=rest.v)
    steps = 30
    goal = np.array(rest.q)
    goal[2] += 0.3
    nv = sim.model.nv
    W = np.zeros((steps, 2 * nv))
    W[-1, :6] = 20.0, 20.0, 400.0, 50.0, 50.0, 50.0  # where it should be, upright
    W[-1, 6:nv] = 0.05
    S = np.zeros((12, 4))  # thighs and knees of the front, and of the back; left and right alike
    for leg in range(4):
        S[3 * leg + 1 : 3 * leg + 3, 2 * (leg // 2) : 2 * (leg // 2) + 2] = np.eye(2)
    task = Task(sim, start, goal, W, stance, S, R=1e-3)
    guess = np.zeros((steps, 4))
    guess[8:20] = np.tile([-0.4, 0.8], 2)  # legs stretched for a while: a hop that is far too low
    inputs, trajectory = task.solve(guess, rounds=60)
    rise = trajectory.q[:, 2].max() - rest.q[2]
    aloft = sim.rollout(start, control=stance + inputs @ S.T, record_contacts=True).contacts[-1]
    tilt = 2.0 * np.arccos(min(1.0, abs(trajectory.q[-1, 6])))
    print(f"quadruped: the trunk rises by {100 * rise:.0f} cm, turned by {np.degrees(tilt):.1f} degrees at the end")
    assert rise > 0.2 and tilt < np.radians(10.0) and not (np.asarray(aloft.impulse)[..., 2] > 0).any()


if __name__ == "__main__":
    swing_up()
    jump()
