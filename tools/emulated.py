"""A plugin of pytest for runs under emulation (tools/test_arm.sh): without peers, and with fewer random examples."""

import sys
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings


class Absent(ModuleType):
    """A peer that is not there: a test that comes to use it is skipped, its neighbours run."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        pytest.skip(f"could not import '{self.__name__}'")


def pytest_sessionstart() -> None:
    settings.register_profile("emulated", settings.get_profile("default"), max_examples=5)
    settings.load_profile("emulated")
    # The shapes of the collision tests come in one module with the peers that measure their distances.
    peers = {name: Absent(name) for name in ("coal", "mujoco")}
    sys.modules.update(peers)
    __import__("helpers.shapes")
    for name in peers:
        del sys.modules[name]
