"""The lock and the claim."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mdactors.substrates.local.place import Place, acquire, is_held


def test_lock_is_held_until_the_last_descriptor_is_closed(tmp_path: Path) -> None:
    path = str(tmp_path / ".lock")
    assert not is_held(path)
    fd = acquire(path)
    heir = os.dup(fd)
    os.close(fd)
    assert is_held(path)
    with pytest.raises(BlockingIOError):
        acquire(path)
    os.close(heir)
    assert not is_held(path)


def test_lock_survives_those_who_look(tmp_path: Path) -> None:
    path = str(tmp_path / ".lock")
    fd = acquire(path)
    for _ in range(3):
        assert is_held(path)
    os.close(fd)


def test_lock_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        acquire(str(tmp_path / "none" / ".lock"))
    assert not is_held(str(tmp_path / "none" / ".lock"))


def test_claim_and_run_are_told_apart(tmp_path: Path) -> None:
    place = Place(str(tmp_path), 3)
    assert (place.claimed(), place.ran()) == (False, False)
    os.makedirs(place.claim)
    assert (place.claimed(), place.ran()) == (True, False)
    Path(place.shim).touch()
    assert (place.claimed(), place.ran()) == (True, True)


def test_lock_belongs_to_the_newest_attempt(tmp_path: Path) -> None:
    fd = acquire(Place(str(tmp_path), 1).lock)
    os.makedirs(Place(str(tmp_path), 2).claim)
    (tmp_path / "attempts" / "notes").touch()
    assert [Place(str(tmp_path), attempt).locked() for attempt in (1, 2, 3)] == [False, True, True]
    os.close(fd)
