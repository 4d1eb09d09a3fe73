"""Job files are read before anything is submitted."""

from __future__ import annotations

import io
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


def test_standard_input_is_a_batch_of_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for content in (b'{"kind": "tpr", "tpr": "x.tpr"}', b'[{"kind": "tpr", "tpr": "x.tpr"}]'):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        (batch,) = read(["-"])
        assert (batch.file, batch.base, batch.entries) == ("-", tmp_path, [{"kind": "tpr", "tpr": "x.tpr"}])


@pytest.mark.parametrize(("content", "why"), [(b"\xff", "not UTF-8"), (b"", "not JSON"), (b"[]", "holds no job")])
def test_standard_input_that_holds_no_jobs(content: bytes, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    with pytest.raises(InputError, match=f"standard input.* {why}"):
        read(["-"])


@pytest.mark.parametrize(
    ("name", "content"), [("a.json", "[" * 9000), ("a.yaml", "- " * 9000), ("a.toml", "a = " + "[" * 9000)]
)
def test_a_file_that_is_nested_without_end(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match="nested too deeply"):
        read([str(tmp_path / name)])
