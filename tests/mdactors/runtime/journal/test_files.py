"""How a new log takes an old one's place."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdactors.runtime.journal.files import files, finish, successor
from mdactors.runtime.journal.sqlite import SqliteJournal
from tests.mdactors.runtime.journal.kit import crashed, story, written

LOG = story(2)


def test_a_log_is_its_file_and_what_sqlite_keeps_beside_it() -> None:
    assert [str(path) for path in files(Path("/s/log"))] == ["/s/log", "/s/log-wal", "/s/log-shm"]


def test_without_a_successor_nothing_happens(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for part in files(log):
        part.write_text(part.name)
    finish(log)
    assert [part.read_text() for part in files(log)] == ["log", "log-wal", "log-shm"]
    finish(tmp_path / "nothing")


@pytest.mark.parametrize("sides", [0, 1, 2])
def test_a_successor_takes_the_place_wherever_it_was_left(tmp_path: Path, sides: int) -> None:
    log = tmp_path / "log"
    for part in files(log)[: 1 + sides]:
        part.write_text("old")
    successor(log).write_text("new")
    finish(log)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"log": "new"}


async def test_the_next_platform_opens_the_successor_and_not_what_lies_beside_the_old_log(tmp_path: Path) -> None:
    old = await SqliteJournal.open(tmp_path / "log")
    await old.append(LOG)
    path = crashed(old.path, tmp_path / "crashed")
    await old.close()
    await written(successor(path), LOG[:5])
    journal = await SqliteJournal.open(path)
    assert [record async for record in journal.read()] == LOG[:5]
    await journal.close()
