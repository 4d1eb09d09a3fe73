"""Engines that outlive the platform: real launching processes that are killed, and a real mdrun that is stopped."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mdactors.environment import build_env
from mdactors.ports import Found
from tests.mdactors.substrates.local.kit import Bench, appears

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
TPR = ROOT / "examples" / "water" / "topol.tpr"

LAUNCHER = """
import sys
import anyio
from mdactors.errors import AlreadyClaimedError
from mdactors.ports import LaunchOrder
from mdactors.substrates.local.local import LocalSubstrate

folder, script = sys.argv[1:]
order = LaunchOrder(folder=folder, attempt=1, argv=("/bin/sh", "-c", script), environment={"PATH": "/usr/bin:/bin"})

async def main():
    try:
        handle = await LocalSubstrate({}, "node").launch(order)
    except AlreadyClaimedError:
        print("claimed", flush=True)
    else:
        print(handle.pid, flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


def launcher(folder: Path, script: str) -> subprocess.Popen[bytes]:
    """Start a platform of our own that launches attempt 1 and says which pid it has."""
    argv = (sys.executable, "-c", LAUNCHER, str(folder), script)
    return subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True, cwd=ROOT)


def said(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    await bench.close()


async def adopt(bench: Bench) -> Found:
    """Find attempt 1 and put it down as one that has to be ended."""
    found = await bench.substrate.find(bench.folder, 1)
    if found.handle:
        bench.started.append((bench.place(), found.handle))
    return found


async def test_attempt_survives_the_death_of_the_platform(bench: Bench) -> None:
    with launcher(bench.path, "echo up >up; while [ ! -e gate ]; do echo step; sleep 0.01; done; exit 5") as platform:
        pid = int(said(platform))
        await appears(bench.path / "up")
        os.killpg(platform.pid, signal.SIGKILL)
        assert platform.wait(10) == -signal.SIGKILL
    found = await adopt(bench)
    assert found.state == "running"
    assert found.handle is not None
    assert found.handle.pid == pid
    (bench.path / "gate").touch()
    record = await bench.substrate.wait(bench.folder, 1, found.handle)
    assert record is not None
    assert record.code == 5
    assert record.max_rss_bytes == 0
    assert await bench.substrate.find(bench.folder, 1) == Found(state="ended", handle=found.handle, exit=record)
    assert b"step" in bench.stdout()


async def test_attempt_that_ended_while_nobody_watched_is_found(bench: Bench) -> None:
    with launcher(bench.path, "exit 5") as platform:
        said(platform)
        await appears(bench.file("exit"))
        platform.kill()
    found = await adopt(bench)
    assert found.handle is not None
    record = await bench.substrate.wait(bench.folder, 1, found.handle)
    assert record is not None
    assert record.code == 5


async def test_adopted_attempt_that_is_killed_vanishes(bench: Bench) -> None:
    with launcher(bench.path, "echo up >up; exec sleep 60") as platform:
        said(platform)
        await appears(bench.path / "up")
        platform.kill()
    found = await adopt(bench)
    assert found.handle is not None
    os.killpg(found.handle.pid, signal.SIGKILL)
    assert await bench.substrate.wait(bench.folder, 1, found.handle) is None
    assert (await bench.substrate.find(bench.folder, 1)).state == "vanished"


async def test_of_several_platforms_one_launches(bench: Bench) -> None:
    platforms = [launcher(bench.path, "echo ran >>ran; exec sleep 60") for _ in range(4)]
    try:
        words = [said(platform) for platform in platforms]
    finally:
        for platform in platforms:
            platform.kill()
            platform.communicate()
    await appears(bench.path / "ran")
    found = await adopt(bench)
    assert found.handle is not None
    assert sorted(words) == sorted([b"claimed"] * 3 + [str(found.handle.pid).encode()])
    assert (bench.path / "ran").read_text() == "ran\n"


@pytest.mark.skipif(not shutil.which("gmx"), reason="GROMACS is not installed")
async def test_real_mdrun_is_bound_and_stops_with_a_checkpoint(bench: Bench) -> None:
    cpu = min(os.sched_getaffinity(0))
    gmx = shutil.which("gmx") or ""
    argv = (gmx, "-quiet", "mdrun", "-s", str(TPR), "-ntmpi", "1", "-ntomp", "1", "-nsteps", "-1")
    environment = build_env(os.environ, {}, None).environment
    handle = await bench.launch(bench.order(*argv, cpus=(cpu,), environment=environment))
    await appears(bench.path / "md.log")
    assert bench.substrate.masks(handle) == ((cpu,),)
    await bench.substrate.stop(bench.folder, 1, handle, signal=signal.SIGTERM, grace_seconds=20)
    record = await bench.substrate.wait(bench.folder, 1, handle)
    assert record is not None
    assert record.code == 1
    assert "Received the TERM signal" in (bench.path / "md.log").read_text()
    assert (bench.path / "state.cpt").exists()
    assert record.user_seconds > 0
