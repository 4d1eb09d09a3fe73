"""A platform that stays: the API, crashes, signals, and jobs that outlive them."""

from __future__ import annotations

import http.client
import json
import shutil
import signal
from pathlib import Path

import pytest

from tests.e2e.kit import EXAMPLES, LONG, Desk, Process, end_process, needs_gromacs, next_line, water

pytestmark = [pytest.mark.e2e, needs_gromacs]


@pytest.fixture
def platform(desk: Desk) -> Process:
    return desk.serve("--slots", 2)


# ---------------------------------------------------------------- crashes and signals


def test_engines_outlive_a_killed_platform_and_are_adopted_each_once(desk: Desk, platform: Process) -> None:
    jobs = desk.submit(water(LONG), water(LONG), water(50))
    for job in jobs[:2]:
        desk.until("AttemptStarted", job)
    before = sorted(desk.engines())
    desk.end(platform, signal.SIGKILL)
    assert len(before) == 2
    assert "not running (read from" in desk.run("status").out
    desk.serve()
    for job in jobs[:2]:
        assert desk.until("AttemptFound", job)["state"] == "running"
    assert sorted(desk.engines()) == before
    assert [attempt["attempt"] for attempt in desk.job(jobs[0])["attempts"]] == [1]
    desk.run("cancel", jobs[0])
    desk.until("JobCompleted", jobs[2])


def test_what_ended_and_what_died_while_nobody_looked_is_found(desk: Desk, platform: Process) -> None:
    ends, dies = desk.submit(water(3000), water(LONG))
    for job in (ends, dies):
        desk.until("AttemptStarted", job)
    desk.end(platform, signal.SIGKILL)
    shim = desk.job(dies)["attempts"][0]["pid"]
    end_process(shim)
    for pid in desk.engines():
        if Path(f"/proc/{pid}/cwd").resolve() == Path(desk.job(dies)["attempts"][0]["folder"]):
            end_process(pid)
    desk.serve()
    desk.until("JobCompleted", ends)
    assert desk.until("AttemptEnded", dies)["outcome"] == "vanished"
    assert desk.until("AttemptStarted", dies, since=desk.until("AttemptEnded", dies)["seq"])["attempt"] == 2


def test_sigterm_leaves_engines_running_and_frees_the_folder(desk: Desk, platform: Process) -> None:
    (job,) = desk.submit(water(LONG))
    desk.until("AttemptStarted", job)
    assert desk.end(platform, signal.SIGTERM) == 0
    assert "1 job under way: engines go on" in desk.err()
    assert len(desk.engines()) == 1
    assert not (desk.state / "mdactors.sock").exists()
    code, out, _ = desk.run("cancel", job)
    assert (code, "cancelled" in out, desk.engines()) == (0, True, [])


def test_a_second_platform_is_told_who_holds_the_folder(desk: Desk, platform: Process) -> None:
    code, out, err = desk.run("serve")
    assert (code, out) == (1, "")
    assert err.startswith(f"error: state folder {desk.state} is held by pid {platform.pid} since 20")


def test_an_address_that_can_not_be_bound_is_told(desk: Desk) -> None:
    code, out, err = desk.run("serve", "--listen", "203.0.113.1:80")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("error: listen: '203.0.113.1:80' can't be bound")


# ---------------------------------------------------------------- jobs


def test_an_edit_after_acceptance_does_not_reach_the_queued_job(desk: Desk, platform: Process) -> None:
    mine = desk.folder / "mine.tpr"
    shutil.copy(EXAMPLES / "water" / "topol.tpr", mine)
    first, second, last = desk.submit(water(LONG), water(LONG), water(50, tpr=str(mine)))
    desk.until("AttemptStarted", second)
    mine.write_bytes(b"rubbish")
    assert desk.job(last)["state"] == "queued"
    desk.run("cancel", first, second)
    desk.until("JobCompleted", last)


def test_waiting_for_jobs_ends_with_them_and_ctrl_c_only_ends_the_waiting(desk: Desk, platform: Process) -> None:
    said = desk.run("submit", desk.file("jobs.json", water(50), water(60)), "--wait", "--json")
    assert (said.code, said.states()) == (0, ["completed", "completed"])
    waiting = desk.start("submit", desk.file("jobs.json", water(LONG)), "--wait", "--json")
    desk.until("AttemptStarted", 3)
    assert desk.end(waiting, signal.SIGINT) == 130
    assert waiting.stdout is not None
    assert [answer["job"] for answer in json.loads(waiting.stdout.read())["submissions"]] == [3]
    assert desk.job(3)["state"] == "running"


def test_cancel_whatever_the_job_is_doing(desk: Desk, platform: Process) -> None:
    jobs = desk.submit(water(LONG), water(LONG), water(50), water(50))
    desk.until("AttemptStarted", jobs[0])
    assert [desk.run("cancel", job).code for job in (jobs[2], jobs[0])] == [0, 0]
    desk.until("JobCancelled", jobs[2])
    assert desk.job(jobs[2])["attempts"] == []
    assert desk.until("AttemptEnded", jobs[0])["outcome"] == "stopped"
    desk.until("JobCompleted", jobs[3])
    assert desk.run("cancel", jobs[3]).out.splitlines()[1].split()[2] == "completed"
    code, out, err = desk.run("cancel", jobs[1], 99)
    assert (code, out, err.splitlines()[0]) == (1, "", "error: no job 99")
    assert desk.job(jobs[1])["state"] == "running"


def test_a_thousand_jobs_and_one_too_many(desk: Desk) -> None:
    (desk.folder / "small.toml").write_text("backlog = 1001\n[slots]\ncount = 1\n")
    desk.serve("--config", "small.toml")
    file = desk.file("jobs.json", *[water(LONG)] * 1001)
    said = desk.run("submit", file, "--json")
    assert (said.code, len(said.json()["submissions"])) == (0, 1001)
    code, out, err = desk.run("submit", file)
    assert (code, out) == (1, "")
    assert "jobs wait already and 1000 more are too many (limit 1001)" in err
    numbers = [answer["job"] for answer in said.json()["submissions"]]
    assert desk.run("cancel", *numbers).code == 0
    desk.until("JobCancelled", numbers[0])
    assert desk.run("status").out.splitlines()[1] == "1001 jobs: 1001 cancelled"


def test_a_device_that_is_taken_out_and_comes_back(desk: Desk) -> None:
    batch = desk.start("submit", desk.file("jobs.json", water(1000)))
    desk.until("AttemptStarted", 1)
    assert desk.run("inject", "device-unhealthy", "cpu:0", "--reason", "fan").code == 0
    requeued = desk.until("JobRequeued", 1)
    assert "waits: device cpu:0 is unhealthy: fan" in desk.run("status").out
    said = desk.run("submit", desk.file("more.json", water(5)))
    assert (said.code, "device cpu:0 is unhealthy: fan (`inject device-recovered cpu:0`" in said.out) == (1, True)
    assert desk.run("inject", "device-recovered", "cpu:0").code == 0
    assert desk.until("AttemptStarted", 1, since=requeued["seq"])["attempt"] == 2
    assert batch.wait(60) == 0
    assert "inject device-recovered cpu:0\n" in desk.err()
    assert "cpu:0 takes work again" in desk.err()
    assert desk.run("inject", "device-lost", "gpu:9").code == 2  # nobody runs any more, and there is no such device


# ---------------------------------------------------------------- HTTP


def test_the_api_as_another_program_uses_it(desk: Desk, platform: Process) -> None:
    status, body = desk.ask("/health")
    assert (status, json.loads(body)["status"]) == (200, "ok")
    jobs = [{"kind": "tpr", "tpr": "water/topol.tpr", "nsteps": 50}, {"kind": "tpr", "nstep": 1}]
    status, body = desk.ask("/v1/jobs", {"jobs": jobs, "base": str(EXAMPLES)})
    good, bad = json.loads(body)["submissions"]
    assert (status, good["job"], bad["state"]) == (200, 1, "refused")
    desk.until("JobCompleted", 1)
    assert json.loads(desk.ask("/v1/jobs/1")[1])["attempts"][0]["outcome"] == "completed"
    assert json.loads(desk.ask("/v1/jobs?state=completed")[1])["total"] == 1
    assert {row["engine"] for row in json.loads(desk.ask("/v1/capabilities")[1])["capabilities"]} >= {"gromacs"}
    assert json.loads(desk.ask("/v1/cancel", {"jobs": [1]})[1])["jobs"][0]["state"] == "completed"
    assert b"reading" in desk.ask("/v1/jobs/1/logs?stream=stderr")[1].lower()
    for path, status in (("/v1/jobs/99", 404), ("/v1/jobs/x", 404), ("/nowhere", 404), ("/v1/events?since=-1", 400)):
        found, body = desk.ask(path)
        assert (found, set(json.loads(body))) == (status, {"error", "detail", "remedy"})
    document = json.loads(desk.ask("/schema/openapi.json")[1])
    assert document["openapi"].startswith("3.")
    assert {"/v1/jobs", "/v1/jobs/{job}", "/v1/cancel", "/v1/capabilities", "/v1/events", "/metrics", "/health"} <= set(
        document["paths"]
    )


def test_the_event_stream_is_taken_up_where_it_broke_off(desk: Desk, platform: Process) -> None:
    (job,) = desk.submit(water(50))
    last = desk.until("JobCompleted", job)["seq"]
    whole = [block.split(b"\n") for block in desk.ask("/v1/events")[1].split(b"\n\n") if block]
    assert [int(lines[0].removeprefix(b"id: ")) for lines in whole][:last] == list(range(1, last + 1))
    for headers, path in (({"Last_Event_ID": str(last - 1)}, "/v1/events"), ({}, f"/v1/events?since={last - 1}")):
        first = desk.ask(path, **headers)[1].split(b"\n\n")[0].split(b"\n")
        assert first[:2] == [b"id: %d" % last, b"event: JobCompleted"]
        assert json.loads(first[2].removeprefix(b"data: "))["seq"] == last


def test_tcp_only_with_the_token(desk: Desk) -> None:
    desk.serve("--listen", "127.0.0.1:0")
    address = next(json.loads(line)["address"] for line in desk.err().splitlines() if '"listening"' in line)
    token = (desk.state / "token").read_text().strip()
    assert (desk.state / "token").stat().st_mode & 0o777 == 0o600
    assert over_tcp(address, "/health", None) == 200
    for path in ("/v1/status", "/v1/jobs", "/metrics", "/v1/events", "/schema/openapi.json"):
        assert [over_tcp(address, path, given) for given in (None, "wrong", token)] == [401, 401, 200]


def over_tcp(address: tuple[str, int], path: str, token: str | None) -> int:
    connection = http.client.HTTPConnection(*address, timeout=10)
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
    status = connection.getresponse().status
    connection.close()
    return status


def test_no_tcp_unless_asked_for_and_results_alone_on_stdout(desk: Desk, platform: Process) -> None:
    inodes = {
        link.readlink().name for link in Path(f"/proc/{platform.pid}/fd").iterdir() if "socket" in str(link.readlink())
    }
    tcp = [
        line.split()[9] for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    assert inodes
    assert not inodes & {f"socket:[{inode}]" for inode in tcp}
    desk.run("submit", desk.file("jobs.json", water(50)), "--wait")
    assert desk.end(platform) == 0
    assert next_line(platform) == b""
