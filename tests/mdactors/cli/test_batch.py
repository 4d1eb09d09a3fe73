"""Job files are read before anything is submitted."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdactors.cli.batch import read
from mdactors.errors import InputError


def test_each_file_is_a_batch_with_its_own_base(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"kind": "tpr", "tpr": "x.tpr"}')
    (tmp_path / "b.jsonl").write_text('{"tpr": 1}\n{"tpr": 2}\n')
    first, second = read([str(tmp_path / "a.json"), str(tmp_path / "b.jsonl")])
    assert (first.base, first.entries) == (tmp_path, [{"kind": "tpr", "tpr": "x.tpr"}])
    assert second.entries == [{"tpr": 1}, {"tpr": 2}]


def test_one_bad_file_spoils_the_call(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(InputError):
        read([str(tmp_path / "a.json"), str(tmp_path / "missing.json")])
