from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from events.outcome import Figures
from events.results import Context
from mdactors.archive import perf
from tests.mdactors.archive.builders import a_life, a_performance, records


def test_the_document_holds_what_was_recorded_and_nothing_else() -> None:
    log = records(*a_life(1), a_performance(1, 100.0), *a_life(2), a_performance(2, 90.0, version="2023.1"))
    made = json.loads(perf.encode(perf.document(log)))
    assert made["schema"] == 1
    assert [(each["seq"], each["job"], each["figures"]["ns_per_day"]) for each in made["entries"]] == [
        (7, 1, 100.0),
        (14, 2, 90.0),
    ]
    assert made["entries"][1]["context"]["version"] == "2023.1"
    assert made["entries"][0]["time"] == "2023-11-14T22:13:27.000000Z"


def test_empty_fields_are_written_too() -> None:
    (entry,) = perf.document(records(a_performance()))["entries"]
    assert set(entry["context"]) == set(Context.__struct_fields__)
    assert set(entry["figures"]) == set(Figures.__struct_fields__)


def test_an_empty_log_makes_an_empty_archive() -> None:
    assert perf.document([]) == {"schema": 1, "entries": []}


def test_export_replaces_the_file_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "perf-archive.json"
    assert perf.export(path, records(a_performance(1))) == 1
    assert perf.export(path, records(a_performance(1), a_performance(2))) == 2
    assert len(json.loads(path.read_bytes())["entries"]) == 2
    assert [each.name for each in tmp_path.iterdir()] == ["perf-archive.json"]


def test_a_failed_export_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "perf-archive.json"
    perf.export(path, records(a_performance(1)))
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        perf.export(path, records(a_performance(2)))
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["perf-archive.json"]
