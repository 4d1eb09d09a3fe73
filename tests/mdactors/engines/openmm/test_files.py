"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mdactors.engines.openmm.files import keep_previous, write_whole


def test_a_file_is_replaced_and_no_partial_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_whole(path, b"old")
    write_whole(path, b"new")
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("a", b"new")]


def test_a_write_that_fails_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    write_whole(path, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"


def test_the_previous_one_survives_the_next_write(tmp_path: Path) -> None:
    path, previous = tmp_path / "a", tmp_path / "b"
    keep_previous(path, previous)
    assert not previous.exists()
    for text in (b"1", b"2", b"3"):
        keep_previous(path, previous)
        write_whole(path, text)
    assert (path.read_bytes(), previous.read_bytes()) == (b"3", b"2")
    assert len(list(tmp_path.iterdir())) == 2
