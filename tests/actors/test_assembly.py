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
import structlog.testing

from actors.assembly import assemble, main
from events.platform import PlatformStopped
from mdactors.api.sockets import SOCKET_NAME, tcp_socket
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


async def test_a_taken_address_or_an_empty_token_is_refused_before_anything_lives(tmp_path: Path) -> None:
    async def refused(**settings: str) -> str:
        config = load_config(None, state=tmp_path, overrides=settings)
        with pytest.raises(ConfigError) as raised:
            async with assemble(config, engines=[], base_env={}):
                pass
        return str(raised.value)

    (tmp_path / "empty").touch()
    with tcp_socket("127.0.0.1:0") as other:
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        assert f"listen: '{taken}' can't be bound" in await refused(listen=taken)
    assert "is empty" in await refused(listen="127.0.0.1:0", token_file=str(tmp_path / "empty"))
    assert not (tmp_path / "journal.sqlite").exists()


async def test_with_an_address_it_answers_there_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.building.configure_logging", lambda: None)
    config = load_config(None, state=tmp_path, overrides={"listen": "127.0.0.1:0"})
    with structlog.testing.capture_logs() as logged:
        async with assemble(config, engines=[], base_env={}) as platform:
            with anyio.fail_after(30):
                await platform.answers.wait()
            [address] = [entry["address"] for entry in logged if entry["event"] == "listening"]
            async with await anyio.connect_tcp(*address) as stream:
                await stream.send(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                assert (await stream.receive()).startswith(b"HTTP/1.1 200")
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600


async def test_what_fails_beside_the_block_stops_it_in_good_order(tmp_path: Path) -> None:
    (tmp_path / SOCKET_NAME).write_text("precious")
    with pytest.raises(ExceptionGroup) as raised:
        async with assemble(load_config(None, state=tmp_path), engines=[], base_env={}):
            await anyio.sleep_forever()
    assert raised.group_contains(OSError)
    journal = await SqliteJournal.open(tmp_path / "journal.sqlite")
    facts = [record.event async for record in journal.read()]
    await journal.close()
    assert facts[-1] == PlatformStopped(reason="asked to stop")


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
