"""`replay`: the log folded again, of a platform that is gone and of one that runs."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal

from actors import building
from mdactors.runtime.journal.files import JOURNAL_NAME
from tests.actors.kit import logs
from tests.mdactors.api.world import EPOCH, World
from tests.mdactors.cli.conftest import Mdctl, write_journal
from tests.mdactors.cli.ruins import Ruin
from tests.mdactors.runtime.journal.kit import edited


def document(mdctl: Mdctl, *argv: str) -> Any:
    result = mdctl("replay", "--json", *argv)
    assert (result.code, result.err) == (0, "")
    return json.loads(result.out)


def table(out: str) -> list[list[str]]:
    """Return the words of each row after the head."""
    return [line.split() for line in out.split("\n\n")[1].splitlines()]


# ---------------------------------------------------------------- the state


def test_the_state_at_the_end_with_one_word_for_all_of_it(mdctl: Mdctl, stopped: World) -> None:
    result = mdctl("replay")
    assert (result.code, result.err) == (0, "")
    first, second = result.out.splitlines()[:2]
    assert first == f"{stopped.last_seq} records, up to 2023-11-14 22:13:41"
    assert second == f"state {document(mdctl)['digest']}"
    assert [row[2] for row in table(result.out)] == ["state", "completed", "running", "queued", "rejected", "failed"]


@pytest.mark.parametrize(
    "point",
    [
        ("--until", "5"),
        ("--at", "1700000004"),
        ("--at", f"{EPOCH + 4.9}"),
        ("--at", "2023-11-14T22:13:24Z"),
        ("--at", "2023-11-15T00:13:24+02:00"),
    ],
)
def test_any_point_of_the_log_by_number_or_by_time(mdctl: Mdctl, stopped: World, point: tuple[str, str]) -> None:
    seen = document(mdctl, *point)
    assert (seen["seq"], seen["time"], [row["state"] for row in seen["jobs"]]) == (5, EPOCH + 4, ["assigned"])
    assert seen["digest"] == document(mdctl, "--until", "5")["digest"] != document(mdctl)["digest"]


def test_before_the_first_record_there_is_nothing(mdctl: Mdctl, stopped: World) -> None:
    result = mdctl("replay", "--until", "0")
    assert (result.code, result.out.splitlines()[0]) == (0, "0 records, up to the beginning")
    for part, words in (("scheduler", "nothing waits"), ("slots", "nothing is known"), ("caps", "nothing is known")):
        assert words in mdctl("replay", "--until", "0", "--show", part).out


def test_each_part_of_the_state(mdctl: Mdctl, stopped: World) -> None:
    slots = mdctl("replay", "--show", "slots")
    assert table(slots.out)[1:] == [
        ["cpu:0/0", "node", "cpu:0", "cpu", "1", "0", "idle"],
        ["cpu:0/1", "node", "cpu:0", "cpu", "1", "1", "busy", "2", "ala2"],
    ]
    caps = mdctl("replay", "--show", "caps")
    assert "tpr gromacs-top" in caps.out
    assert len(table(caps.out)) == 3
    line = table(mdctl("replay", "--show", "scheduler").out)
    assert line[0] == ["place", "job", "priority", "priority_class", "effective", "waited_seconds", "devices"]
    assert line[1][:4] == ["1", "3", "0", "normal"]
    assert line[1][-1] == "cpu:0"


def test_each_part_as_json(mdctl: Mdctl, stopped: World) -> None:
    assert [row["job"] for row in document(mdctl)["jobs"]] == [1, 2, 3, 4, 5]
    assert [row["job"] for row in document(mdctl, "--show", "scheduler")["scheduler"]] == [3]
    assert [row["capability"] for row in document(mdctl, "--show", "caps")["caps"]] == list(stopped.matrix.capabilities)
    assert len(document(mdctl, "--show", "slots")["slots"]) == 2


def test_the_file_of_a_running_platform_is_read_and_not_changed(
    mdctl: Mdctl, running: World, portal: BlockingPortal
) -> None:
    portal.call(write_journal, running)
    before = (running.state / JOURNAL_NAME).read_bytes()
    assert document(mdctl)["seq"] == running.last_seq
    assert mdctl("replay", "--why", "1").code == 0
    assert (running.state / JOURNAL_NAME).read_bytes() == before
    assert running.asked == []


# ---------------------------------------------------------------- the way


def test_each_record_is_shown_with_what_it_changed(mdctl: Mdctl, stopped: World) -> None:
    lines = mdctl("replay", "--step", "--until", "4").out.splitlines()
    assert [json.loads(line)["seq"] for line in lines if line.startswith("{")] == [1, 2, 3, 4]
    assert [line.strip() for line in lines if not line.startswith("{")] == [
        "slot cpu:0/0: none -> free",
        "slot cpu:0/1: none -> free",
        "job 1: none -> submitted",
        "jobs in line: 0 -> 1",
        "job 1: submitted -> queued",
    ]


def test_steps_as_json_lines(mdctl: Mdctl, stopped: World) -> None:
    lines = [json.loads(line) for line in mdctl("replay", "--step", "--json").out.splitlines()]
    assert [line["record"] for line in lines] == list(range(1, stopped.last_seq + 1))
    assert lines[2] == {"record": 3, "changed": ["job 1: none -> submitted"]}


class Terminal(io.StringIO):
    """Somebody who presses keys."""

    def isatty(self) -> bool:
        return True


def test_at_a_terminal_enter_goes_on_and_q_ends(mdctl: Mdctl, stopped: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("\n\nq\n"))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    lines = mdctl("replay", "--step").out.splitlines()
    assert len([line for line in lines if line.startswith("{")]) == 3


def test_the_chain_of_facts_that_led_to_where_a_job_stands(mdctl: Mdctl, stopped: World) -> None:
    result = mdctl("replay", "--why", "5")
    names = [line.split()[3] for line in result.out.splitlines()]
    assert names == ["JobSubmitted", "JobAccepted", "JobAssigned", "AttemptStarted", "AttemptEnded", "JobFailed"]
    assert result.out.splitlines()[-1].endswith("JobFailed job=5 attempt=1 (constraints failed)")
    assert [fact["type"] for fact in document(mdctl, "--why", "5")] == names


def test_the_chain_has_what_is_not_about_the_job_but_led_to_it(mdctl: Mdctl, ruined: Ruin) -> None:
    chain = mdctl("replay", "--why", "2").out
    assert "JobRequeued job=2 attempt=1" in chain
    assert " because of " in chain


def test_of_a_job_that_is_not_there_nothing_can_be_told(mdctl: Mdctl, stopped: World) -> None:
    result = mdctl("replay", "--why", "99")
    assert (result.code, result.out) == (1, "")
    assert "the log knows no job 99" in result.err
    assert "`status` lists those that exist" in result.err


# ---------------------------------------------------------------- decisions


@pytest.fixture
def ruined(monkeypatch: pytest.MonkeyPatch, state: Any) -> Ruin:
    """The log of a platform that really decided."""
    monkeypatch.setattr(building, "configure_logging", lambda: None)
    monkeypatch.setattr(building, "usable_cores", lambda: ((0,),))
    with logs():
        ruin = Ruin(state)
    ruin.restore()
    return ruin


def test_every_decision_is_made_again(mdctl: Mdctl, ruined: Ruin) -> None:
    result = mdctl("replay", "--verify")
    assert (result.code, result.err) == (0, "")
    count, rest = result.out.split(maxsplit=1)
    assert int(count) > 9
    assert rest == "decisions made again: all as they are in the log\n"
    assert document(mdctl, "--verify") == {"decisions": int(count), "difference": None, "foreign": []}


def test_the_first_decision_that_differs_is_told(mdctl: Mdctl, ruined: Ruin) -> None:
    seq = next(record.seq for record in ruined.log if type(record.event).__name__ == "JobRequeued")
    edited(ruined.path, f"UPDATE events SET body = replace(body, 'attempt\":1', 'attempt\":7') WHERE seq = {seq}")
    result = mdctl("replay", "--verify")
    assert result.code == 1
    assert result.out.splitlines()[0].startswith("Scheduler, having seen record ")
    assert f"decided otherwise in record {seq}:" in result.out
    assert "the log has    JobRequeued job=2 attempt=7" in result.out
    assert "the core says  JobRequeued job=2 attempt=1" in result.out
    seen = mdctl("replay", "--verify", "--json")
    assert (seen.code, json.loads(seen.out)["difference"]["seq"]) == (1, seq)


def test_what_other_rules_decided_is_not_judged(mdctl: Mdctl, ruined: Ruin) -> None:
    edited(
        ruined.path,
        "UPDATE events SET body = json_set(body, '$.policy', json('{\"logic\":99}')) WHERE type = 'PlatformStarted'",
    )
    result = mdctl("replay", "--verify")
    assert (result.code, result.out.split()[0]) == (0, "0")
    assert "not judged: what was decided by logic 99 (ours: " in result.err


def test_what_if_there_were_more_slots(mdctl: Mdctl, ruined: Ruin) -> None:
    result = mdctl("replay", "--what-if", "aging=0.5,slots=3")
    assert (result.code, result.err) == (0, "")
    head, happened, what_if = result.out.splitlines()
    assert head.split() == ["jobs", "makespan", "mean", "wait", "worst", "wait"]
    assert (happened.split()[:2], what_if.split()[:3]) == (["happened", "3"], ["what", "if", "3"])
    courses = document(mdctl, "--what-if", "slots=3")
    assert courses["what if"]["worst_wait"] == 0
    assert courses["what if"]["makespan"] < courses["happened"]["makespan"]
    assert courses["happened"]["worst_wait"] > 100


def test_nothing_can_be_asked_where_no_job_has_ended(mdctl: Mdctl, stopped: World) -> None:
    result = mdctl("replay", "--what-if", "slots=2", "--until", "3")
    assert (result.code, result.out) == (2, "")
    assert "no job in this log has run to its end" in result.err


# ---------------------------------------------------------------- what can't be asked


@pytest.mark.parametrize(
    ("argv", "remedy"),
    [
        (("--what-if", "speed=2"), "'speed' can't be changed; what can: aging, slots"),
        (("--what-if", ""), "what can: aging, slots"),
        (("--what-if", "slots"), "slots='' is no number"),
        (("--what-if", "slots=many"), "slots='many' is no number"),
        (("--what-if", "slots=0"), "slots=0 is too small"),
        (("--what-if", "aging=-1"), "aging=-1 is too small"),
        (("--what-if", "aging=nan"), "aging=nan is no number"),
        (("--at", "noon"), "'noon' is no time: 2026-12-01T10:30:00, or seconds since 1970"),
        (("--at", "nan"), "'nan' is no time"),
        (("--until", "x"), "--until: invalid int value: 'x'"),
        (("--until", "3", "--at", "5"), "--at: not allowed with argument --until"),
        (("--step", "--why", "1"), "--why: not allowed with argument --step"),
        (("--show", "all"), "choose from 'jobs', 'slots', 'caps', 'scheduler'"),
    ],
)
def test_wrong_words_are_refused_with_what_would_do(
    mdctl: Mdctl, stopped: World, argv: tuple[str, ...], remedy: str
) -> None:
    result = mdctl("replay", *argv)
    assert (result.code, result.out) == (2, "")
    assert remedy in result.err


def test_without_a_log(mdctl: Mdctl) -> None:
    for argv in ((), ("--verify",), ("--step",), ("--why", "1")):
        result = mdctl("replay", *argv)
        assert (result.code, result.out) == (1, "")
        assert "there is no event log" in result.err


def test_a_damaged_log_is_told_with_what_can_still_be_read(mdctl: Mdctl, stopped: World) -> None:
    edited(stopped.state / JOURNAL_NAME, "UPDATE events SET body = 'garbage' WHERE seq = 9")
    result = mdctl("replay")
    assert result.code == 1
    assert "the event log is readable up to record 8" in result.err
    assert "`python run.py check`" in result.err
    assert document(mdctl, "--until", "8")["seq"] == 8
