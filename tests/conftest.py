"""Settings shared by all tests.

Hypothesis searches deterministically by default, so that a run means the same everywhere. To look further than the
default run does: ``pytest --hypothesis-profile=explore``.
"""

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("explore", settings.get_profile("default"), derandomize=False, max_examples=1000)
settings.load_profile("default")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "robots: runs on the large robot data package (make test-robots)")
