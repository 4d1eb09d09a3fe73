"""`check`: is the log whole, and what can be done where it isn't."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mdactors.runtime.journal import check as checking
from mdactors.runtime.journal.files import JOURNAL_NAME
from mdactors.runtime.statelock import hold
from tests.mdactors.api.world import World
from tests.mdactors.cli.conftest import Mdctl
from tests.mdactors.runtime.journal.kit import edited, zeroed


@pytest.fixture
def log(stopped: World) -> Path:
    return stopped.state / JOURNAL_NAME


@pytest.fixture
def damaged(log: Path) -> Path:
    edited(log, "UPDATE events SET body = 'garbage' WHERE seq = 9")
    return log


def test_a_whole_log(mdctl: Mdctl, log: Path, stopped: World) -> None:
    result = mdctl("check")
    assert (result.code, result.err) == (0, "")
    first, second = result.out.splitlines()
    assert first == f"{log}: {stopped.last_seq} records, whole"
    assert second.removeprefix("state ") == json.loads(mdctl("replay", "--json").out)["digest"]


def test_a_damaged_one_is_told_with_where_and_why_and_what_helps(mdctl: Mdctl, damaged: Path) -> None:
    before = damaged.read_bytes()
    result = mdctl("check")
    assert (result.code, result.err) == (1, "")
    first, second = result.out.splitlines()
    assert first.startswith(f"{damaged}: readable up to record 8, then: JSON is malformed")
    assert second.startswith("stop the platform, then `check --repair` cuts it there")
    assert damaged.read_bytes() == before


def test_repair_cuts_it_and_keeps_the_damaged_file(mdctl: Mdctl, damaged: Path) -> None:
    before = damaged.read_bytes()
    result = mdctl("check", "--repair")
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0].startswith(f"{damaged}: readable up to record 8")
    assert lines[1].startswith(f"cut there; the damaged file is kept as {damaged}.damaged-2")
    assert Path(lines[1].rpartition(" ")[2]).read_bytes() == before
    assert "reads what was lost back from the job folders" in lines[2]
    assert mdctl("check").out.splitlines()[0] == f"{damaged}: 8 records, whole"


def test_there_is_nothing_to_repair_in_a_whole_one(mdctl: Mdctl, log: Path) -> None:
    before = log.read_bytes()
    assert mdctl("check", "--repair").code == 0
    assert log.read_bytes() == before
    assert list(log.parent.glob("*damaged*")) == []


def test_as_json(mdctl: Mdctl, damaged: Path) -> None:
    seen = mdctl("check", "--json")
    document = json.loads(seen.out)
    assert (seen.code, document["whole"], document["readable_to"], document["kept"]) == (1, False, 8, "")
    assert "malformed" in document["fault"]
    repaired = mdctl("check", "--json", "--repair")
    assert repaired.code == 0
    assert Path(json.loads(repaired.out)["kept"]).is_file()
    document = json.loads(mdctl("check", "--json").out)
    assert (document["whole"], document["fault"], document["readable_to"]) == (True, "", 8)


def test_one_of_which_nothing_is_readable(mdctl: Mdctl, log: Path) -> None:
    zeroed(log, 0)
    result = mdctl("check")
    assert result.code == 1
    assert "readable up to record 0, then: file is not a database" in result.out


def test_a_running_platform_s_log_is_checked_and_not_repaired(mdctl: Mdctl, damaged: Path) -> None:
    with hold(damaged.parent, "this morning"):
        assert mdctl("check").code == 1
        result = mdctl("check", "--repair")
    assert result.code == 1
    assert "since this morning" in result.err
    assert list(damaged.parent.glob("*.damaged*")) == []


def test_a_repair_that_fails_says_so(mdctl: Mdctl, damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checking, "_write", full)
    before = damaged.read_bytes()
    result = mdctl("check", "--repair")
    assert (result.code, result.out) == (1, "")
    assert f"{damaged} can't be repaired: [Errno 28] No space left on device; nothing of it is lost" in result.err
    assert damaged.read_bytes() == before


def test_without_a_log(mdctl: Mdctl, state: Path) -> None:
    result = mdctl("check")
    assert (result.code, result.out) == (1, "")
    assert f"there is no event log {state / JOURNAL_NAME}" in result.err
