"""Helpers run to their end, or to the end of their time."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import anyio
import pytest

from mdactors.errors import InputError
from mdactors.substrates.local.processes import stat_of
from mdactors.substrates.local.run import LocalRun
from tests.mdactors.substrates.local.kit import appears, children, eventually, open_descriptors

run = LocalRun({"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "7"})


async def sh(script: str, *, timeout: float = 10.0) -> tuple[int, bytes, bytes]:
    done = await run(("sh", "-c", script), timeout=timeout)
    return done.code, done.stdout, done.stderr


async def test_code_and_both_streams() -> None:
    assert await sh("echo out; echo err >&2; echo more >/dev/stderr; exit 3") == (3, b"out\n", b"err\nmore\n")


async def test_death_by_a_signal_is_a_negative_code() -> None:
    assert await sh("kill -9 $$") == (-9, b"", b"")


async def test_nothing_to_read_and_no_terminal() -> None:
    assert await sh("cat; (echo x >/dev/tty) 2>/dev/null || echo none") == (0, b"none\n", b"")


async def test_large_output_on_both_streams() -> None:
    code = "import sys; [(sys.stdout.write('x' * 1000), sys.stderr.write('y' * 1000)) for _ in range(3000)]"
    done = await run((sys.executable, "-c", code), timeout=20)
    assert (done.code, len(done.stdout), len(done.stderr)) == (0, 3_000_000, 3_000_000)


async def test_output_beyond_reason_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mdactors.substrates.local.run._OUTPUT_MAX", 1000)
    code, stdout, _ = await sh("yes | head -c 1000000")
    assert (code, len(stdout)) == (0, 1000)


async def test_environment_is_built() -> None:
    done = await run(("env",), timeout=10, variables={"GMX_X": "a b"})
    assert sorted(done.stdout.splitlines()) == [b"GMX_X=a b", b"LC_ALL=C", b"PATH=/usr/bin:/bin"]
    with pytest.raises(InputError):
        await run(("env",), timeout=10, variables={"LD_PRELOAD": "x"})


async def test_folder_to_run_in(tmp_path: Path) -> None:
    folder = tmp_path / "it's $HOME"
    folder.mkdir()
    (folder / "tool").write_text('#!/bin/sh\npwd\nprintf "%s|" "$@"\n')
    (folder / "tool").chmod(0o755)
    done = await run(("./tool", "a b", "'", "-n"), timeout=10, cwd=str(folder))
    assert done.stdout.decode() == f"{folder}\na b|'|-n|"


@pytest.mark.parametrize("argv", [("no-such-program",), ("/no/such",), ("/etc/passwd",), ("/tmp",), ("sh", "\0")])
async def test_program_that_can_not_be_started_is_127(argv: tuple[str, ...]) -> None:
    before = open_descriptors()
    done = await run(argv, timeout=10)
    assert (done.code, done.timed_out) == (127, False)
    assert argv[0].encode() in done.stderr
    assert open_descriptors() == before


async def test_missing_folder_is_127() -> None:
    assert (await run(("true",), timeout=10, cwd="/no/such")).code == 127


async def test_timeout_ends_everything_that_was_started(tmp_path: Path) -> None:
    script = f"setsid sh -c : & sleep 60 & echo $! >{tmp_path}/pid; echo said; sleep 60"
    begun = time.monotonic()
    done = await run(("sh", "-c", script), timeout=0.3)
    assert (done.code, done.timed_out, done.stdout) == (-9, True, b"said\n")
    assert time.monotonic() - begun < 2
    descendant = int(await appears(tmp_path / "pid"))
    await eventually(lambda: (stat := stat_of(descendant)) is None or not stat.alive)


async def test_cancelling_ends_it_too(tmp_path: Path) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(sh, f"echo $$ >{tmp_path}/pid; sleep 60")
        pid = int(await appears(tmp_path / "pid"))
        group.cancel_scope.cancel()
    assert pid not in children()


async def test_background_writer_does_not_hold_us_up() -> None:
    begun = time.monotonic()
    assert await sh("sleep 1 & echo done") == (0, b"done\n", b"")
    assert time.monotonic() - begun < 0.9


async def test_nothing_is_left_behind() -> None:
    before = open_descriptors(), children()
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(sh, "exit 1")
    await sh("sleep 60", timeout=0.05)
    assert (open_descriptors(), children()) == before


async def test_loop_is_free_while_a_helper_runs() -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.sleep(0.005)
            ticks += 1

    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        await sh("sleep 0.2")
        group.cancel_scope.cancel()
    assert ticks > 5
