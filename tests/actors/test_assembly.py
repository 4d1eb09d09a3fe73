"""The composition root: a platform that is built, lives and stops."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from actors.assembly import assemble, main
from mdactors.cli.client import Client
from mdactors.config import Config, Settings, load_config
from mdactors.errors import ConfigError, JournalError, StateBusyError
from mdactors.runtime.clock import LoopClock
from mdactors.runtime.journal.sqlite import SqliteJournal
from mdactors.substrates.local.local import LocalSubstrate
from tests.simulation.engine import SimulatedEngine
from tests.simulation.life import Life
from tests.simulation.machine import Machine
from tests.simulation.scenario import Wish, cpu
from tests.simulation.script import Script
from tests.simulation.substrate import SimulatedSubstrate


async def test_the_api_comes_up_when_somebody_knocks(tmp_path: Path) -> None:
    async with assemble(load_config(None, state=tmp_path), engines=[], base_env={}) as platform:
        await platform.probed()
        assert not platform.answers.is_set()
        health = await anyio.to_thread.run_sync(Client(str(tmp_path)).get, "/health")
        assert (health["status"], platform.answers.is_set()) == ("ok", True)


async def test_a_warm_api_comes_up_by_itself(tmp_path: Path) -> None:
    async with assemble(load_config(None, state=tmp_path), engines=[], base_env={}, warm=True) as platform:
        with anyio.fail_after(30):
            await platform.answers.wait()


async def test_a_platform_that_only_looks_answers_nobody(tmp_path: Path) -> None:
    async with assemble(load_config(None, state=tmp_path), engines=[], base_env={}, mode="look") as platform:
        await platform.probed()
        assert not list(tmp_path.glob("*.sock"))


async def test_a_real_journal_goes_on_in_the_next_life_and_no_task_is_left(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    machine, life = Machine(LoopClock(), (cpu(2),)), Life()
    (tmp_path / "input.tpr").write_bytes(b"simulated")
    for number in (1, 2, 3):
        async with assemble(
            Config(state=tmp_path, settings=Settings(node="node")),
            substrate=SimulatedSubstrate(machine, life),
            engines=[SimulatedEngine("alpha", machine, life)],
            base_env={},
            api=False,
        ) as platform:
            entry = Wish(script=Script(steps=1, rate=1000.0, startup=0.0)).entry()
            [answer] = await platform.submit([entry], base=tmp_path, owner="ada")
            assert answer.job == number
            with anyio.fail_after(30):
                await platform.finished([number])
            assert list(platform.jobs.rows) == list(range(1, number + 1))
    assert asyncio.all_tasks() == before
    journal = await SqliteJournal.open(tmp_path / "journal.sqlite")
    assert await journal.last() == platform.last_seq
    await journal.close()
    assert machine.violations == []


async def test_what_can_t_be_assembled_says_why_and_holds_nothing(tmp_path: Path) -> None:
    async def build(state: Path) -> None:
        async with assemble(load_config(None, state=state), engines=[], base_env={}, api=False):
            pass

    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"state folder .* can't be used"):
        await build(tmp_path / "file")
    (tmp_path / "journal.sqlite").write_bytes(b"no event log at all" * 100)
    with pytest.raises(JournalError, match="can't be used as an event log"):
        await build(tmp_path)
    (tmp_path / "journal.sqlite").unlink()
    await build(tmp_path)


async def test_a_second_platform_is_told_who_holds_the_state(tmp_path: Path) -> None:
    config = load_config(None, state=tmp_path)
    async with assemble(config, engines=[], base_env={}, api=False):
        with pytest.raises(StateBusyError, match=f"held by pid {os.getpid()}"):
            async with assemble(config, engines=[], base_env={}, api=False):
                pass


async def test_our_own_environment_is_what_children_are_given_a_selection_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODULEPATH", "/site/modules")
    given: list[str] = []

    class Watched(LocalSubstrate):
        def __init__(self, base_env: dict[str, str], node: str) -> None:
            given.append(base_env["MODULEPATH"])
            super().__init__(base_env, node)

    monkeypatch.setattr("actors.building.LocalSubstrate", Watched)
    async with assemble(load_config(None, state=tmp_path), engines=[], api=False):
        assert given == ["/site/modules"]


def test_the_entry_point_is_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["mdctl", "--version"])
    assert main() == 0
    assert "mdactors" in capsys.readouterr().out


def test_a_client_imports_nothing_of_a_platform() -> None:
    heavy = ("anyio", "aiosqlite", "litestar", "uvicorn", "numpy", "rich", "structlog", "actors.building")
    code = f"import sys, actors.assembly; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=Path(__file__).parents[2])
    assert done.stdout == b"[]\n"
