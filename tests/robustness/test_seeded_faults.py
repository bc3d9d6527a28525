"""Errors that the tests should notice can be put in: `make seeded-faults` does, and takes long."""

from __future__ import annotations

import pytest

from tools.seeded_faults import FAULTS, ROOT, Fault


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_faults_apply(fault: Fault) -> None:
    """Their line is still there, once, and their tests are."""
    assert (ROOT / fault.file).read_text().count(fault.old) == 1
    assert fault.new != fault.old
    for word in fault.tests.split():
        assert not word.startswith("tests/") or (ROOT / word.split("::")[0]).exists()
