from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdactors.engines.gromacs.tpr import HEAD_BYTES, TprError, check_size, parse_head, read_tpr
from tests.mdactors.engines.gromacs.conftest import corpus_bytes, params, system

PRECISION_BYTES = {"single": 4, "double": 8}


def text(word: str) -> bytes:
    data = word.encode()
    return struct.pack(">ii", len(data) + 1, len(data)) + data + b"\0" * (-len(data) % 4)


def a_tpr(body: int = 100) -> bytes:
    """A 2022 tpr with a body of zeros."""
    head = text("VERSION 2022.5") + struct.pack(">iii", 4, 127, 28) + text("release") + struct.pack(">iii", 648, 1, 0)
    return head + struct.pack(">f6iq", 0.0, 1, 1, 1, 1, 0, 1, body) + b"\0" * body


@pytest.mark.parametrize("row", params("tpr"))
def test_heads_of_real_files(row: dict[str, str]) -> None:
    data = corpus_bytes(row["file"])
    head = parse_head(data[:HEAD_BYTES])
    facts = dict(re.findall(r"(natoms|tpx file version|generation)=(\d+)", row["other"]))
    assert head.version == row["engine_version"]
    assert head.real_bytes == PRECISION_BYTES[row["precision"]]
    assert head.atoms == int(facts["natoms"])
    assert head.file_version == int(facts["tpx file version"])
    assert head.generation == int(facts["generation"])
    check_size(head, len(data))


@pytest.mark.parametrize("row", params("tpr"))
def test_real_files_of_2020_and_later_tell_when_their_end_is_missing(row: dict[str, str]) -> None:
    data = corpus_bytes(row["file"])
    head = parse_head(data[:HEAD_BYTES])
    if head.file_version < 119:
        assert head.body_bytes is None
        return
    with pytest.raises(TprError, match="cut off"):
        check_size(head, len(data) - 4)


def test_a_run_input_of_today(tmp_path: Path) -> None:
    path = tmp_path / "topol.tpr"
    path.write_bytes(a_tpr())
    head = read_tpr(path)
    assert (head.version, head.file_version, head.generation, head.atoms) == ("2022.5", 127, 28, 648)
    assert (head.tag, head.body_bytes) == ("release", 100)


def test_a_real_system(tmp_path: Path) -> None:
    assert read_tpr(system("water216/nvt.tpr")).atoms == 648


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"#!/bin/sh\necho not a tpr at all, but a script of some length\n", "not a tpr"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 40, "not a tpr"),
        (a_tpr()[:60], "cut off inside its head"),
        (a_tpr()[:-8], "cut off: .* bytes are there"),
        (a_tpr().replace(struct.pack(">iii", 4, 127, 28), struct.pack(">iii", 5, 127, 28)), "numbers of 5 bytes"),
        (a_tpr().replace(struct.pack(">iii", 4, 127, 28), struct.pack(">iii", 4, -3, 28)), "format number -3"),
        (a_tpr().replace(struct.pack(">iii", 648, 1, 0), struct.pack(">iii", -648, 1, 0)), "-648 atoms"),
    ],
)
def test_why_a_file_can_not_be_used(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "topol.tpr"
    path.write_bytes(data)
    with pytest.raises(TprError, match=words):
        read_tpr(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(TprError, match="no such file"):
        read_tpr(tmp_path / "none.tpr")


@given(st.binary(max_size=300))
def test_garbage_raises_nothing_but_its_own_error(data: bytes) -> None:
    with pytest.raises(TprError):
        parse_head(data)


@given(st.integers(0, len(a_tpr()) - 1))
def test_every_truncation_is_seen(length: int) -> None:
    data = a_tpr()[:length]
    with pytest.raises(TprError):
        check_size(parse_head(data), length)


@given(st.integers(0, 115), st.integers(0, 255))
def test_a_changed_byte_raises_nothing_but_its_own_error(place: int, value: int) -> None:
    data = bytearray(a_tpr())
    data[place] = value
    try:
        head = parse_head(bytes(data))
    except TprError:
        return
    assert head.atoms >= 0
