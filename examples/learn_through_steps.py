"""A pole on a cart learns to stand, in the middle of its track, by gradients through the steps (needs PyTorch)."""

from dataclasses import replace
from importlib.util import find_spec

import featherweight as fw

if find_spec("torch") is None:
    print('this example needs PyTorch: pip install "featherweight[torch]"')
else:
    terms, balance = fw.gym.terms, fw.gym.tasks.cart_pole()
    costs = {
        "upright": -100.0 * terms.drift(terms.joint_positions("robot/hinge")),
        "middle": -1.0 * terms.drift(terms.joint_positions("robot/slide")),
    }
    task = replace(balance, rewards={**balance.rewards, **costs})

    result = fw.learn.shac(task, samples=16_384, num_envs=8, hidden=(32,), critic=(32,), rate=1e-2, every=16)
    for look in result.scores:
        print(look)

    first = fw.learn.Policy.initial(4, 1, hidden=(32,))
    before, after = (fw.cluster.evaluate(task, policy, seed=77).steps.mean() for policy in (first, result.policy))
    print(
        f"it stands for {task.period * before:.1f} s before, for {task.period * after:.1f} of 10 s after it has learnt"
    )
    assert before < 150 and after > 400
