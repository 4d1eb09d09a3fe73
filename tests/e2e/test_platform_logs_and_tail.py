"""What the engines wrote, and the event log: of a platform that runs, and of one that is stopped."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.e2e.kit import LONG, Desk, needs_gromacs, next_line, water

pytestmark = [pytest.mark.e2e, needs_gromacs]

HEAD = ["seq", "time", "cause", "type"]


def test_the_log_of_a_stopped_platform(desk: Desk) -> None:
    assert desk.run("submit", desk.file("jobs.json", water(50), water(50))).code == 0
    whole = desk.records()
    assert [record["seq"] for record in whole] == list(range(1, len(whole) + 1))
    assert all(list(record)[:4] == HEAD and record["cause"] < record["seq"] for record in whole)
    assert (whole[0]["type"], whole[-1]["type"]) == ("PlatformStarted", "PlatformStopped")
    assert desk.records("--since", 5) == whole[5:]
    assert desk.records("--type", "Job[AC]*") == [each for each in whole if each["type"].startswith(("JobA", "JobC"))]
    assert desk.records("--job", 2) == [each for each in whole if each.get("job") == 2]
    assert desk.records("--job", 99) == desk.records("--type", "Nothing") == []
    assert desk.run("tail", "--since", "x").code == 2
    code, _, err = desk.run("tail", "-f", "--since", len(whole))
    assert (code, err) == (1, f"no platform is running on {desk.state}: nothing more will happen\n")
    assert desk.shell("mdctl tail | head -1").code == 0
    assert desk.shell("mdctl tail -f --since 1 2>&1 | head -2 | wc -l").out.strip() == "2"
    if shutil.which("jq"):
        assert desk.shell("mdctl tail | jq -r 'select(.job == 2) | .type' | head -1").out == "JobSubmitted\n"
    assert desk.run("status", 2).out.startswith("job 2: water/topol, completed\n")
    assert "Reading file topol.tpr" in desk.run("logs", 2).out
    assert "Finished mdrun" in desk.run("logs", 2, "--engine-log").out
    assert desk.shell("mdctl logs 2 --engine-log | head -1").code == 0
    assert desk.run("logs", 99).code == desk.run("status", 99).code == 1


def test_the_log_of_a_running_platform_is_followed(desk: Desk) -> None:
    platform = desk.serve()
    follower = desk.start("tail", "-f", "--type", "Job*")
    (job,) = desk.submit(water(50))
    seen = [json.loads(next_line(follower)) for _ in range(4)]
    assert [(each["type"], each["job"]) for each in seen] == [
        ("JobSubmitted", job),
        ("JobAccepted", job),
        ("JobAssigned", job),
        ("JobCompleted", job),
    ]
    assert desk.records("--type", "Job*") == seen
    assert desk.shell("mdctl tail -f | head -2 | wc -l").out.strip() == "2"
    desk.end(platform)
    assert next_line(follower) == b""
    assert follower.wait(10) in (0, 1)


def test_the_engines_output_is_followed_until_the_job_ends(desk: Desk) -> None:
    desk.serve()
    (job,) = desk.submit(water(LONG))
    desk.until("AttemptStarted", job)
    follower = desk.start("logs", job, "-f", "--engine-log")
    assert b"GROMACS" in next_line(follower)
    desk.run("cancel", job)
    assert follower.stdout is not None
    assert b"Received the TERM signal" in follower.stdout.read()
    assert follower.wait(10) == 0


def test_progress_is_told_to_those_who_ask_and_not_kept(desk: Desk) -> None:
    desk.serve()
    (job,) = desk.submit(water(LONG))
    follower = desk.start("tail", "-f", "--progress", "--type", "AttemptProgressed")
    record = json.loads(next_line(follower))
    assert (record["seq"], record["job"], record["steps_asked"]) == (0, job, LONG)
    assert desk.records("--type", "AttemptProgressed") == []
