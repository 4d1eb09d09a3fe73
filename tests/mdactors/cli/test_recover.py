"""`recover`: the log is lost, and the job folders are there."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from actors import building
from mdactors.cli.context import Context
from mdactors.cli.own import ask
from mdactors.cli.stopped import Stopped
from mdactors.runtime.journal.check import check
from mdactors.runtime.journal.files import JOURNAL_NAME
from mdactors.runtime.platform import Platform
from mdactors.runtime.statelock import hold
from tests.actors.kit import logs
from tests.mdactors.cli.conftest import Mdctl, Result
from tests.mdactors.cli.ruins import Ruin
from tests.mdactors.runtime.journal.kit import edited, zeroed


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep the log off the terminal, and a machine of one core."""
    monkeypatch.setattr(building, "configure_logging", lambda: None)
    monkeypatch.setattr(building, "usable_cores", lambda: ((0,),))
    with logs():
        yield


@pytest.fixture
def ruin(state: Path) -> Ruin:
    return Ruin(state)


class Terminal(io.StringIO):
    """Somebody who answers."""

    def isatty(self) -> bool:
        return True


def states(folder: Path) -> dict[int, tuple[str, list[str | None]]]:
    rows = Stopped(str(folder)).models.rows.values()
    return {row.job: (str(row.state), [attempt.outcome for attempt in row.attempts]) for row in rows}


KNOWN = {
    1: ("completed", ["completed"]),
    2: ("completed", ["vanished", "completed"]),
    3: ("failed", ["failed"]),
}


def test_a_preview_shows_what_the_folders_know_and_writes_nothing(mdctl: Mdctl, ruin: Ruin) -> None:
    result = mdctl("recover", assemble=ruin.assemble)
    assert (result.code, result.err) == (1, "nothing was written; --yes writes the new log\n")
    assert result.out.splitlines()[0] == f"3 jobs in the folders of {ruin.state}:"
    assert [line.split()[0] for line in result.out.splitlines()[2:]] == ["1", "2", "3"]
    assert not ruin.path.exists()


def test_with_yes_jobs_attempts_and_results_are_in_a_new_log(mdctl: Mdctl, ruin: Ruin) -> None:
    result = mdctl("recover", "--yes", assemble=ruin.assemble)
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines()[-2:] == ["a new log is written", "`serve` goes on with what had not ended"]
    assert states(ruin.state) == KNOWN
    assert check(ruin.path).whole
    assert mdctl("status", "2").code == 0
    rows = json.loads(mdctl("ledger", "--json").out)
    assert len(rows["attempts"] if isinstance(rows, dict) else rows) == 4


def test_as_json(mdctl: Mdctl, ruin: Ruin) -> None:
    seen = mdctl("recover", "--json", assemble=ruin.assemble)
    document = json.loads(seen.out)
    assert (seen.code, document["written"], document["kept"]) == (1, False, "")
    assert document["jobs"][1] == {
        "job": 2,
        "name": "state/input",
        "attempts": 2,
        "last": "completed",
        "step": 1000,
        "steps_asked": 1000,
    }
    assert [row["last"] for row in document["jobs"]] == ["completed", "completed", "failed"]
    written = mdctl("recover", "--json", "--yes", assemble=ruin.assemble)
    assert (written.code, json.loads(written.out)["written"]) == (0, True)
    assert states(ruin.state) == KNOWN


@pytest.mark.parametrize(("answer", "written"), [("y\n", True), ("yes\n", True), ("n\n", False), ("", False)])
def test_who_sits_at_a_terminal_is_asked(
    mdctl: Mdctl, ruin: Ruin, monkeypatch: pytest.MonkeyPatch, answer: str, written: bool
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    result = mdctl("recover", assemble=ruin.assemble)
    assert "write a new event log from this? [y/N]" in result.err
    assert (result.code, ruin.path.exists()) == (0 if written else 1, written)


def test_who_does_not_is_not(mdctl: Mdctl, ruin: Ruin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    result = mdctl("recover", assemble=ruin.assemble)
    assert (result.code, ruin.path.exists(), "[y/N]" in result.err) == (1, False, False)


@pytest.mark.parametrize("name", ["", "jobs"])
def test_the_folder_is_named_or_its_folder_of_jobs(mdctl: Mdctl, ruin: Ruin, tmp_path: Path, name: str) -> None:
    result = mdctl(
        "recover", "--from", str(ruin.state / name), "--yes", assemble=ruin.assemble, MDACTORS_STATE=str(tmp_path / "x")
    )
    assert result.code == 0
    assert states(ruin.state) == KNOWN
    assert not (tmp_path / "x").exists()


def test_a_folder_without_jobs_is_refused(mdctl: Mdctl, tmp_path: Path) -> None:
    for given in (tmp_path / "nowhere", tmp_path / "jobs"):
        result = mdctl("recover", "--from", str(given))
        assert (result.code, result.out) == (2, "")
        assert f"--from {given}: there is no folder" in result.err


def test_where_no_job_ever_was_nothing_is_written(mdctl: Mdctl, ruin: Ruin, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    (empty / "jobs").mkdir(parents=True)
    result = mdctl("recover", "--from", str(empty), "--yes", assemble=ruin.assemble)
    assert (result.code, result.err) == (1, "nothing was written\n")
    assert not (empty / JOURNAL_NAME).exists()


# ---------------------------------------------------------------- a log is there


def test_a_whole_log_needs_no_recovery(mdctl: Mdctl, ruin: Ruin) -> None:
    ruin.restore()
    before = ruin.path.read_bytes()
    result = mdctl("recover", "--yes")
    assert result.code == 2
    assert f"is whole ({len(ruin.log)} records): nothing is lost; --anyway sets it aside" in result.err
    assert ruin.path.read_bytes() == before


def test_one_that_is_readable_in_part_is_for_check(mdctl: Mdctl, ruin: Ruin) -> None:
    ruin.restore()
    edited(ruin.path, "UPDATE events SET body = '{' WHERE seq = 9")
    result = mdctl("recover", "--yes")
    assert result.code == 2
    assert "is readable up to record 8: `check --repair` keeps those; --anyway does not" in result.err


def kept(result: Result) -> Path:
    [line] = [line for line in result.out.splitlines() if "the old one is kept as" in line]
    return Path(line.rpartition(" ")[2])


@pytest.mark.parametrize("anyway", [True, False])
def test_an_unreadable_one_is_set_aside_and_any_other_where_that_is_wanted(
    mdctl: Mdctl, ruin: Ruin, anyway: bool
) -> None:
    ruin.restore()
    if not anyway:
        zeroed(ruin.path, 0)
    before = ruin.path.read_bytes()
    result = mdctl("recover", "--yes", *["--anyway"][:anyway], assemble=ruin.assemble)
    assert result.code == 0
    assert kept(result).read_bytes() == before
    assert kept(result).name.startswith(f"{JOURNAL_NAME}.before-recovery-2")
    assert states(ruin.state) == KNOWN


def test_a_running_platform_keeps_its_folder(mdctl: Mdctl, ruin: Ruin) -> None:
    ruin.restore()
    with hold(ruin.state, "this morning"):
        result = mdctl("recover", "--yes", "--anyway", assemble=ruin.assemble)
    assert result.code == 1
    assert "since this morning" in result.err
    assert ruin.path.exists()


# ---------------------------------------------------------------- afterwards


def test_a_log_that_was_cut_and_repaired_gets_the_rest_from_the_folders(mdctl: Mdctl, ruin: Ruin) -> None:
    """At the next start of any kind."""
    ruin.restore()
    edited(ruin.path, "DELETE FROM events WHERE seq = 5")
    assert mdctl("check", "--repair").code == 0
    assert {state for state, _ in states(ruin.state).values()} == {"submitted"}
    ask(Context(SimpleNamespace(state=str(ruin.state), config=None), {}, ruin.assemble), settled)  # type: ignore[arg-type]
    assert states(ruin.state) == KNOWN


async def settled(platform: Platform) -> None:
    await platform.settled([1, 2, 3])
