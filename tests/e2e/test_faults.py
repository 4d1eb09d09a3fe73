"""Some faults on purpose, at every run; all of them: `python -m tests.faults`."""

from __future__ import annotations

import pytest

from tests.e2e.kit import needs_gromacs
from tests.faults.cases import CASES, Case
from tests.faults.ground import SkippedError, tried

pytestmark = [pytest.mark.e2e, needs_gromacs]


@pytest.mark.parametrize("case", [case for case in CASES if case.quick], ids=lambda case: case.name)
def test_nothing_is_lost(case: Case) -> None:
    try:
        tried(case.run)
    except SkippedError as why:
        pytest.skip(str(why))
