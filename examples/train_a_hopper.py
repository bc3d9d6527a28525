"""A hopper learns to hop to a height: its policy is trained by gradients through 32 steps of contact at a time."""

import numpy as np

import featherweight as fw

# A trunk on a vertical rail, on a leg with a foot; the leg's servo is told how long to be.
builder = fw.ModelBuilder("hopper")
builder.solid("trunk", "box", (0.2, 0.2, 0.2), mass=4.0)
builder.solid("foot", "sphere", (0.05,), mass=0.3)
builder.joint("rail", "prismatic", "world", "trunk", axis="z")
builder.joint("leg", "prismatic", "trunk", "foot", axis="z", placement=(0, 0, -0.5), lower=-0.15, upper=0.15)
scene = fw.Scene(ground=fw.Plane(friction=0.8))
scene.add(builder.build(), name="hopper")
scene.servo(["hopper/leg"], kp=1500.0, kd=8.0)
sim = fw.Simulator(scene, dt=0.01, integrator="implicit")

HORIZON, BATCH, HIDDEN = 32, 64, 24
HEIGHT = 0.85  # [m] that the trunk should reach
STAND = 0.55
rng = np.random.default_rng(0)
weights = [0.5 * rng.normal(size=(HIDDEN, 5)), 0.05 * rng.normal(size=(1, HIDDEN))]


def features(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.column_stack([(q[:, 0] - STAND) / 0.2, v[:, 0] / 2.0, q[:, 1] / 0.1, v[:, 1] / 2.0, np.ones(len(q))])


SLOPES = np.array([[1 / 0.2, 0, 0, 0], [0, 0, 1 / 2.0, 0], [0, 1 / 0.1, 0, 0], [0, 0, 0, 1 / 2.0], [0, 0, 0, 0]])
REACH = 0.08  # [m] of the leg


def act(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    hidden = np.tanh(x @ weights[0].T)
    out = np.tanh(hidden @ weights[1].T)
    return -REACH * out, hidden, out


def missing(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """How far from the height the trunk comes in this flight [m]; nothing while the foot is on the ground."""
    flies = q[:, 0] + q[:, 1] > STAND + 0.01
    return np.where(flies, q[:, 0] + v[:, 0] ** 2 / (2 * 9.81) - HEIGHT, 0.0)


def train_once(state: fw.State) -> tuple[float, list[np.ndarray], fw.State]:
    """The cost of one window, its gradient by the weights, and the state at its end."""
    kept, cost = [], 0.0
    for _ in range(HORIZON):
        x = features(state.q, state.v)
        u, hidden, out = act(x)
        state, pull = sim.step_vjp(state, control=u)
        kept.append((x, hidden, out, pull, state))
        cost += float((missing(state.q, state.v) ** 2).mean()) / HORIZON
    by_weights = [np.zeros_like(w) for w in weights]
    by_q, by_v = np.zeros((BATCH, 2)), np.zeros((BATCH, 2))
    for x, hidden, out, pull, after in reversed(kept):
        miss = 2.0 * missing(after.q, after.v) / (HORIZON * BATCH)
        by_q[:, 0] += miss
        by_v[:, 0] += miss * after.v[:, 0] / 9.81
        g = pull(by_q, by_v)
        back = -REACH * g.control * (1.0 - out**2)
        by_weights[1] += back.T @ hidden
        back = (back @ weights[1]) * (1.0 - hidden**2)
        by_weights[0] += back.T @ x
        through = back @ weights[0] @ SLOPES
        by_q, by_v = g.q + through[:, :2], g.v + through[:, 2:]
    return cost, by_weights, state


def start() -> fw.State:
    q = np.column_stack([STAND + rng.uniform(0.05, 0.35, BATCH), np.zeros(BATCH)])
    return sim.state(BATCH, q=q, v=np.column_stack([rng.normal(size=BATCH), np.zeros(BATCH)]))


def highest() -> np.ndarray:
    """How high the trunk comes in the last of three seconds, from several starts."""
    state = sim.state(8, q=np.column_stack([np.linspace(0.65, 1.0, 8), np.zeros(8)]))
    heights = []
    for _ in range(300):
        state = sim.step(state, control=act(features(state.q, state.v))[0])
        heights.append(state.q[:, 0])
    return np.asarray(np.max(heights[200:], axis=0))


before = highest()
moments = [(np.zeros_like(w), np.zeros_like(w)) for w in weights]
state, costs = start(), []
for iteration in range(1, 301):
    cost, gradient, state = train_once(state)
    costs.append(cost)
    if iteration % 8 == 0:
        state = start()
    size = np.sqrt(sum(float((g**2).sum()) for g in gradient))
    for k, g in enumerate(gradient):  # Adam, with gradients cut to a length of one
        g = g / max(1.0, size)
        first, second = moments[k]
        moments[k] = first, second = 0.9 * first + 0.1 * g, 0.99 * second + 0.01 * g**2
        weights[k] -= 0.01 * (first / (1 - 0.9**iteration)) / (np.sqrt(second / (1 - 0.99**iteration)) + 1e-8)
after = highest()
print(f"cost {np.mean(costs[:8]):.4f} at first, {np.mean(costs[-8:]):.4f} after {len(costs)} windows of 32 steps")
for what, heights in (("came", before), ("comes", after)):
    print(f"the trunk {what} to {heights.min():.2f} .. {heights.max():.2f} m")
assert before.max() < 0.7 and np.abs(after - HEIGHT).max() < 0.08
