"""The faults: each does something to a platform at work, and lets it come back."""

from __future__ import annotations

import functools
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pyedr

from tests.e2e.kit import LONG, PATIENCE_SECONDS, water
from tests.faults.ground import Ground, both, fill, remount, small_disk
from tests.faults.platform import CONFIG_NAME

EARLIER_BOOT = "00000000-0000-4000-8000-000000000000"
HOUR = 3600


class Case(NamedTuple):
    """One row of the matrix."""

    name: str
    done: str
    """What is done to it."""
    must: str
    """What must hold in the end, beyond what must always hold."""
    run: Callable[[Ground], None]
    quick: bool = False
    """Tried by every run of the tests."""


CASES: list[Case] = []


def case(done: str, must: str, *, quick: bool = False) -> Callable[[Callable[[Ground], None]], None]:
    """Add a function to the matrix under its own name."""

    def add(run: Callable[[Ground], None]) -> None:
        CASES.append(Case(run.__name__.replace("_", "-"), done, must, run, quick))

    return add


# ---------------------------------------------------------------- the platform is killed


def killed_at(ground: Ground, *, when: str, at: str) -> None:
    """In its first life."""
    ground.dies(when, at)
    ground.settle()
    assert [ground.attempts(job) for job in (1, 2)] == [1, 1]


def killed_at_start(ground: Ground, *, when: str, at: str) -> None:
    """In its second life, over engines that run."""
    ground.wants(*both(2000))
    ground.dies("after", "AttemptStarted", 2)
    ground.dies(when, at)
    ground.settle()
    assert [ground.attempts(job) for job in (1, 2)] == [1, 1]
    assert ground.found_running(), "the engines had ended before the last life began; give them more steps"


AT_WORK = (
    "JobSubmitted",
    "CapabilitiesProbed",
    "JobAccepted",
    "JobAssigned",
    "AttemptStarted",
    "AttemptEnded",
    "JobCompleted",
    "PerformanceRecorded",
    "PlatformStopped",
)
AT_START = ("PlatformStarted", "AttemptFound")
QUICK = {"before-JobAssigned", "after-JobAssigned", "before-AttemptStarted", "before-AttemptFound"}

for _kind in (*AT_WORK, *AT_START):
    for _when in ("before", "after"):
        _run = killed_at if _kind in AT_WORK else killed_at_start
        _done = f"platform killed {_when} the first {_kind} is committed"
        if _kind in AT_START:
            _done += " in its second life, while the engines run that the first one left"
        CASES.append(
            Case(
                f"killed-{_when}-{_kind}",
                _done,
                "both jobs completed, each in one attempt",
                functools.partial(_run, when=_when, at=_kind),
                f"{_when}-{_kind}" in QUICK,
            )
        )


def killed_at_an_engines_end(ground: Ground, *, when: str, at: str) -> None:
    """After an engine's death, which leads to a second attempt."""
    ground.wants(*both(1500))
    life = ground.life(when=when, at=at)
    life.until("AttemptStarted", 1)
    os.kill(ground.runs(1), signal.SIGKILL)
    ground.killed.add((1, 1))
    assert life.end() == -signal.SIGKILL
    ground.settle()
    assert [ground.attempts(job) for job in (1, 2)] == [2, 1]


def killed_at_a_cancel(ground: Ground, *, when: str, at: str) -> None:
    """While a running job is being cancelled; a wish that was never durable is none."""
    ground.wants(*both(1500))
    life = ground.life(when=when, at=at)
    life.until("AttemptStarted", 1)
    ground.runs(1)
    ground.run("cancel", 1)
    assert life.end() == -signal.SIGKILL
    ground.settle()
    heard = (when, at) != ("before", "JobCancelRequested")
    ground.causes = {1: "stopped"} if heard else {}
    assert [ground.attempts(job) for job in (1, 2)] == [1, 1]


def killed_at_a_device_report(ground: Ground, *, when: str, at: str) -> None:
    """While the device on which both jobs run is taken out of service; later it is back."""
    ground.wants(*both(2000))
    life = ground.life(when=when, at=at)
    for job in (1, 2):
        life.until("AttemptStarted", job)
        ground.runs(job)
    ground.run("inject", "device-unhealthy", "cpu:0")
    assert life.end() == -signal.SIGKILL
    second = ground.life()
    for job in (1, 2):
        second.until("JobRequeued", job)
    assert ground.run("inject", "device-recovered", "cpu:0").code == 0
    assert second.end() == 0
    assert [ground.attempts(job) for job in (1, 2)] == [2, 2]


for _when in ("before", "after"):
    CASES.append(
        Case(
            f"killed-{_when}-DeviceUnhealthy",
            f"the device reported unhealthy, platform killed {_when} DeviceUnhealthy is committed; then it is reported well",
            "both engines stopped in good order, and both jobs go on in a second attempt",
            functools.partial(killed_at_a_device_report, when=_when, at="DeviceUnhealthy"),
        )
    )
    CASES.append(
        Case(
            f"killed-{_when}-JobRequeued",
            f"GROMACS killed with -9, and the platform {_when} the JobRequeued that follows is committed",
            "the job goes on in a second attempt, the other job in its first",
            functools.partial(killed_at_an_engines_end, when=_when, at="JobRequeued"),
        )
    )
    CASES.extend(
        Case(
            f"killed-{_when}-{_kind}",
            f"a running job cancelled, platform killed {_when} {_kind} is committed",
            "cancelled, if the wish was durable; the other job completed",
            functools.partial(killed_at_a_cancel, when=_when, at=_kind),
        )
        for _kind in ("JobCancelRequested", "AttemptStopRequested", "JobCancelled")
    )


@case("killed after AttemptStarted, then before and after AttemptFound while it recovers", "each job in one attempt")
def killed_again_and_again(ground: Ground) -> None:
    ground.wants(*both(3000))
    ground.dies("after", "AttemptStarted", 2)
    ground.dies("before", "AttemptFound")
    ground.dies("after", "AttemptFound")
    ground.settle()
    assert [ground.attempts(job) for job in (1, 2)] == [1, 1]
    assert ground.found_running(), "the engines had ended before the last life began; give them more steps"


@case("killed after AttemptStarted; both engines end while nobody is there", "their ends recorded as they were")
def engines_end_while_it_is_away(ground: Ground) -> None:
    ground.dies("after", "AttemptStarted", 2)
    ground.wait(lambda: not ground.processes())
    ground.settle()
    assert [ground.attempts(job) for job in (1, 2)] == [1, 1]


# ---------------------------------------------------------------- engine and shim


@case("GROMACS and OpenMM killed with -9 while they run", "both go on in a second attempt", quick=True)
def engines_killed(ground: Ground) -> None:
    ground.wants(*both(2000))
    life = ground.life()
    for job in (1, 2):
        life.until("AttemptStarted", job)
        os.kill(ground.runs(job), signal.SIGKILL)
        ground.killed.add((job, 1))
    assert life.end() == 0
    assert [ground.attempts(job) for job in (1, 2)] == [2, 2]


@case("both shims killed with -9; their engines run on", "the engines are left alone; both jobs in one attempt")
def shims_killed(ground: Ground) -> None:
    life = ground.life()
    for job in (1, 2):
        life.until("AttemptStarted", job)
        ground.runs(job)
        os.kill(ground.shim(job), signal.SIGKILL)
        ground.killed.add((job, 1))
    assert life.end() == 0
    assert [ground.attempts(job) for job in (1, 2)] == [1, 1]


@case("both shims and the platform killed; their engines run on", "they are adopted without a shim; one attempt each")
def shims_and_platform_killed(ground: Ground) -> None:
    ground.wants(*both(1500))
    life = ground.life()
    for job in (1, 2):
        life.until("AttemptStarted", job)
        ground.runs(job)
        os.kill(ground.shim(job), signal.SIGKILL)
        ground.killed.add((job, 1))
    life.kill()
    ground.settle()
    assert [ground.attempts(job) for job in (1, 2)] == [1, 1]


@case("engines stopped (SIGSTOP), platform killed and back, engines continued", "one attempt each", quick=True)
def engines_stopped_and_continued(ground: Ground) -> None:
    life = ground.life()
    engines = []
    for job in (1, 2):
        life.until("AttemptStarted", job)
        engines.append(ground.runs(job))
        os.kill(engines[-1], signal.SIGSTOP)
    life.kill()
    second = ground.life()
    for job in (1, 2):
        second.until("AttemptFound", job)
    for pid in engines:
        os.kill(pid, signal.SIGCONT)
    assert second.end() == 0
    assert [ground.attempts(job) for job in (1, 2)] == [1, 1]


@case(
    "platform, shims and engines killed; a new boot id, and a stranger with the shim's pid and start time",
    "both go on; the stranger is not touched",
)
def rebooted(ground: Ground) -> None:
    ground.wants(*both(2000))
    life = ground.life(boot=EARLIER_BOOT)
    for job in (1, 2):
        life.until("AttemptStarted", job)
        ground.runs(job)
    engines = [ground.engine(job) for job in (1, 2)]
    for pid in (life.process.pid, *(ground.shim(job) for job in (1, 2)), *engines):
        os.kill(pid, signal.SIGKILL)
    ground.wait(lambda: not ground.processes())
    with subprocess.Popen(("sleep", str(LONG)), cwd=ground.folder, start_new_session=True) as stranger:
        try:
            stat = Path(f"/proc/{stranger.pid}/stat").read_text()
            for job in (1, 2):
                record = ground.job_folder(job) / "attempts" / "1" / "shim"
                ground.reused[job, 1] = ground.shim(job)
                record.write_text(f"{EARLIER_BOOT}\n{stat}")
                ground.killed.add((job, 1))
            ground.settle()
            assert stranger.poll() is None, "a stranger was taken for the shim"
        finally:
            stranger.kill()
    assert [ground.attempts(job) for job in (1, 2)] == [2, 2]


# ---------------------------------------------------------------- the log


@case("platform killed, then the log's WAL deleted", "both jobs known again by their folders, each in one attempt")
def wal_deleted(ground: Ground) -> None:
    ground.dies("after", "AttemptStarted", 2)
    for path in ground.state.glob("journal.sqlite-*"):
        path.unlink()
    ground.rebuilt = True
    ground.settle()
    assert [ground.attempts(job) for job in (1, 2)] == [1, 1]


@case("the middle of the log overwritten with zeros, then `check --repair`", "it is cut there, the old one is kept")
def log_zeroed_in_the_middle(ground: Ground) -> None:
    ground.settle()
    log = ground.state / "journal.sqlite"
    third = log.stat().st_size // 3 // 4096 * 4096
    with log.open("r+b") as file:
        file.seek(third)
        file.write(b"\0" * third)
    assert ground.run("check").code == 1
    repaired = ground.run("check", "--repair", "--json")
    assert repaired.code == 0, repaired.err
    assert Path(repaired.json()["kept"]).read_bytes().count(b"\0" * third) == 1
    ground.rebuilt = True
    ground.settle()
    assert [ground.attempts(job) for job in (1, 2)] == [1, 1]


@case("platform killed, then the second half of the log's WAL zeroed, `check --repair`", "adopted all the same")
def log_zeroed_at_the_end(ground: Ground) -> None:
    ground.wants(*both(3000))
    life = ground.life()
    life.until("AttemptStarted", 1)
    life.until("AttemptStarted", 2)
    ground.end(life.process, signal.SIGKILL)
    for path in ground.state.glob("journal.sqlite-wal"):
        half = path.stat().st_size // 2
        path.write_bytes(path.read_bytes()[:half] + b"\0" * half)
    repaired = ground.run("check", "--repair")
    assert repaired.code == 0, repaired.err
    ground.rebuilt = True
    ground.settle()
    assert [ground.attempts(job) for job in (1, 2)] == [1, 1]


@case(
    "the log's WAL deleted, then killed before and after the lost jobs are written again",
    "both jobs known again, each in one attempt",
)
def killed_while_it_reads_folders(ground: Ground) -> None:
    ground.dies("after", "AttemptStarted", 2)
    for path in ground.state.glob("journal.sqlite-*"):
        path.unlink()
    ground.rebuilt = True
    ground.dies("before", "JobsRegained")
    ground.dies("after", "JobsRegained")
    ground.settle()
    assert [ground.attempts(job) for job in (1, 2)] == [1, 1]


@case(
    "one engine ended, one running, platform killed, log deleted, then `recover`",
    "a new log from the folders",
    quick=True,
)
def log_lost(ground: Ground) -> None:
    ground.wants(both(200)[0], both(2000)[1])
    life = ground.life()
    life.until("PerformanceRecorded", 1)
    life.kill()
    for path in ground.state.glob("journal.sqlite*"):
        path.unlink()
    recovered = ground.run("recover", "--yes")
    assert recovered.code == 0, recovered.err
    ground.rebuilt = True
    ground.settle()
    assert [ground.attempts(job) for job in (1, 2)] == [1, 1]


# ---------------------------------------------------------------- disk and clock


@case("the log's disk full when both engines end; later it has room", "the platform waits; each job in one attempt")
def disk_full_while_committing(ground: Ground) -> None:
    elsewhere = ground.folder / "jobs"
    elsewhere.mkdir()
    settings = (ground.state / CONFIG_NAME).read_text()
    with small_disk(ground.state, 4) as ballast:
        (ground.state / CONFIG_NAME).write_text(settings)
        (ground.state / "jobs").symlink_to(elsewhere)
        life = ground.life()
        life.until("AttemptStarted", 1)
        life.until("AttemptStarted", 2)
        fill(ballast)
        life.until("JournalError")
        ballast.unlink()
        assert life.end() == 0
        ground.judge()


@case(
    "the engine's disk full while it writes a checkpoint; then it has room",
    "the attempt fails by that cause, the job goes on",
)
def disk_full_while_checkpointing(ground: Ground) -> None:
    ground.wants(both(4000)[0])
    jobs = ground.state / "jobs"
    with small_disk(jobs, 4) as ballast:
        life = ground.life()
        life.until("AttemptStarted", 1)
        ground.runs(1)
        fill(ballast)
        life.until("AttemptEnded", 1)
        ballast.unlink()
        assert life.end() == 0
        codes = [event.diagnosis.code for event in ground.ended(1) if event.diagnosis]
        assert codes, "no attempt failed"
        assert set(codes) == {"disk-full"}
        ground.judge()


@case("the job folders read-only when jobs are given out; later writable", "failed by that cause, then both completed")
def folders_read_only(ground: Ground) -> None:
    with small_disk(ground.state / "jobs", 16) as ballast:
        remount(ballast.parent, "ro")
        life = ground.life()
        life.until("AttemptEnded", 1)
        remount(ballast.parent, "rw")
        assert life.end() == 0
        causes = [event.diagnosis.code for event in ground.ended(1) if event.diagnosis]
        assert set(causes) == {"folder-unusable"}
        ground.judge()


@case("the clock set back an hour, then forward two, while jobs run", "nobody minds; each job in one attempt")
def clock_steps(ground: Ground) -> None:
    ground.honest = False
    ground.dies("after", "AttemptStarted", 2)
    assert ground.life(when="after", at="AttemptFound", step=-HOUR).end() == 0
    ground.wants(*both(200), *both(200))
    assert ground.life(when="after", at="AttemptStarted", step=HOUR).end() == 0
    assert [ground.attempts(job) for job in (1, 2, 3, 4)] == [1, 1, 1, 1]


# ---------------------------------------------------------------- two at once, and the science


@case(
    "a second platform on the same state folder",
    "it says who holds it and since when, and exits with an error",
    quick=True,
)
def two_platforms(ground: Ground) -> None:
    life = ground.life()
    life.until("AttemptStarted")
    second = ground.run("serve")
    assert second.code != 0
    assert f"pid {life.process.pid} since " in second.err
    assert life.end() == 0


@case(
    "a GROMACS job with `deterministic` whose engine is killed 5 times at random moments",
    "coordinates and velocities of the last frame, and all energies, as of one that ran through: bit by bit",
)
def continuity(ground: Ground) -> None:
    steps, dice = 6000, random.Random(2026)
    ground.wants(*(water(steps, backend_pref="gromacs", deterministic=True) for _ in range(2)))
    life = ground.life()
    folder = ground.job_folder(2)
    for attempt in range(1, 6):
        life.until("AttemptStarted", 2, attempt)
        began = time.time_ns()
        ground.runs(2, attempt)
        ground.wait(lambda: _changed(folder / "state.cpt") > began)  # noqa: B023 - called before the next one
        time.sleep(dice.uniform(0.0, 0.6))
        os.kill(ground.engine(2, attempt), signal.SIGKILL)
        ground.killed.add((2, attempt))
    assert life.end() == 0
    assert ground.attempts(2) == 6
    through, interrupted = (ground.job_folder(job) for job in (1, 2))
    assert _last_frame(interrupted) == _last_frame(through)
    assert (interrupted / "traj_comp.xtc").read_bytes() == (through / "traj_comp.xtc").read_bytes()
    one, other = (pyedr.edr_to_dict(str(each / "ener.edr")) for each in (through, interrupted))
    assert list(other["Time"].round(3)) == [round(0.2 * frame, 3) for frame in range(steps // 100 + 1)]
    assert {name: list(values) for name, values in other.items()} == {name: list(each) for name, each in one.items()}


def _changed(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


def _last_frame(folder: Path) -> bytes:
    """Return the newest checkpoint's coordinates and velocities in full precision."""
    words = ("gmx", "-quiet", "trjconv", "-f", "state.cpt", "-s", "topol.tpr", "-o", "last.trr")
    subprocess.run(words, input=b"0\n", cwd=folder, capture_output=True, check=True, timeout=PATIENCE_SECONDS)
    return (folder / "last.trr").read_bytes()
