"""The command line, driven as a user would, with a platform behind it or none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from mdactors.cli.main import main
from mdactors.runtime.journal.sqlite import SqliteJournal
from mdactors.runtime.platform import Platform
from tests.mdactors.api.world import World, listening, populated

Assemble = Callable[[Any], AbstractAsyncContextManager[Platform]]


class Result(NamedTuple):
    """What a command line did."""

    code: int
    out: str
    err: str


class Mdctl(Protocol):
    """Runs a command line on the test's state folder."""

    def __call__(self, *argv: str, assemble: Assemble | None = None, **environ: str) -> Result: ...


def refusing(config: Any) -> AbstractAsyncContextManager[Platform]:
    raise AssertionError("no platform of our own was expected")


def assembling(world: World) -> Assemble:
    """Return an `assemble` that yields this world, and remembers with which settings it was asked."""

    @asynccontextmanager
    async def assemble(config: Any, **_: Any) -> AsyncIterator[Platform]:
        world.asked.append(("assemble", config.settings))
        yield world

    return assemble


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    return folder


@pytest.fixture
def mdctl(state: Path, capsys: pytest.CaptureFixture[str]) -> Mdctl:
    def run(*argv: str, assemble: Assemble | None = None, **environ: str) -> Result:
        capsys.readouterr()
        code = main(argv, environ={"MDACTORS_STATE": str(state)} | environ, assemble=assemble or refusing)
        return Result(code, *capsys.readouterr())

    return run


@pytest.fixture
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as started:
        yield started


@pytest.fixture
def world(state: Path) -> World:
    return populated(state)


@pytest.fixture
def running(world: World, portal: BlockingPortal) -> Iterator[World]:
    """A platform that is running, served from another thread; change it through the portal only."""
    with portal.wrap_async_context_manager(listening(world)):
        yield world


@pytest.fixture
def stopped(world: World, portal: BlockingPortal) -> World:
    """The files of a platform that was stopped."""
    portal.call(write_journal, world)
    return world


async def write_journal(world: World) -> None:
    journal = await SqliteJournal.open(world.state / "journal.sqlite")
    await journal.append([record for record in world.log if record.seq])
    await journal.close()
