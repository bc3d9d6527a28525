"""What friction holds, and when it gives way."""

import pytest

from physics.friction import ladder, ladder_threshold, pushed_box, squeezed_ball, tipping_acceleration

WIDTH, HEIGHT, MASS, G = 0.2, 0.4, 3.0, 9.81
TIPS = MASS * G * WIDTH / (2.0 * HEIGHT)  # [N]
EDGE_FRICTION = WIDTH / (2.0 * HEIGHT)  # below it slides first, above it tips first


@pytest.mark.parametrize("mu", [0.8 * EDGE_FRICTION, 2.0 * EDGE_FRICTION])
def test_a_box_pushed_too_weakly_stays(mu: float) -> None:
    """0.1 % below the weaker threshold; creep is bounded by 1e-9 of g a second."""
    push = pushed_box(mu, 0.999 * min(mu * MASS * G, TIPS))
    assert abs(push.slid) < 1e-9
    assert push.turned < 1e-7  # the arc cosine of 1 - rounding


def test_a_box_on_a_slippery_floor_slides_upright() -> None:
    """Exact acceleration F / m - mu g from the first step on."""
    mu = 0.8 * EDGE_FRICTION
    push = pushed_box(mu, 1.1 * mu * MASS * G, tolerance=1e-12)
    assert push.acceleration == pytest.approx(0.1 * mu * G, rel=1e-9)
    assert push.slid == pytest.approx(0.5 * 0.1 * mu * G * 0.2 * (0.2 + 1e-3), rel=1e-8)  # steps move at their end
    assert push.turned < 1e-7


@pytest.mark.parametrize("excess", [1.001, 1.1])
def test_a_box_on_a_rough_floor_tips(excess: float) -> None:
    """About its edge, with the acceleration of the moments about it; the centre moves on an arc."""
    push = pushed_box(2.0 * EDGE_FRICTION, excess * TIPS, tolerance=1e-12)
    exact = tipping_acceleration(excess * TIPS)
    assert push.turning == pytest.approx(exact, rel=1e-8)
    assert push.acceleration == pytest.approx(0.5 * HEIGHT * exact, rel=1e-8)


@pytest.mark.parametrize("share", [0.5, 0.999, 1.001, 2.0])
def test_a_ball_between_walls_hangs_or_falls(share: float) -> None:
    """share: of the force that holds it. Two contacts, solved to 1e-12 of g dt a step."""
    mu = 0.4
    speed, exact = squeezed_ball(mu, share * G / (2.0 * mu), tolerance=1e-12)
    assert abs(speed - exact) < 1e-10


@pytest.mark.parametrize("angle", [0.7, 1.0, 1.2])
def test_a_ladder_slips_from_its_threshold_on(angle: float) -> None:
    """A ten-thousandth of friction more or less decides."""
    threshold = ladder_threshold(angle)
    assert ladder(1.0001 * threshold, angle) < 1e-9
    assert ladder(0.9999 * threshold, angle) > 1e-4
