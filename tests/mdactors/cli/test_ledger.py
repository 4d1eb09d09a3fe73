"""`ledger`: as a table, as it is, and for scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.mdactors.cli.conftest import Mdctl

TEXT = 'job,attempt,name,ns_per_day,comment\n1,1,water,12.5,"a, b"\n12,2,jac,3,\n'


@pytest.fixture
def written(state: Path) -> None:
    (state / "ledger.csv").write_text(TEXT)


@pytest.mark.usefixtures("written")
def test_for_people_for_spreadsheets_and_for_scripts(mdctl: Mdctl) -> None:
    assert mdctl("ledger").out == (
        "job  attempt  name   ns_per_day\n  1        1  water        12.5\n 12        2  jac             3\n"
    )
    assert mdctl("ledger", "--csv").out == TEXT
    assert [line["comment"] for line in json.loads(mdctl("ledger", "--json").out)] == ["a, b", ""]


def test_before_the_first_attempt_ended(mdctl: Mdctl) -> None:
    code, out, err = mdctl("ledger")
    assert (code, out) == (2, "")
    assert "made when the first attempt ends" in err
