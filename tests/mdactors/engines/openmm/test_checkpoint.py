"""The envelopes: not one changed or missing byte gets through, and the best of what is left is taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdactors.engines.openmm.checkpoint import (
    Candidate,
    DamagedError,
    Header,
    candidates,
    choose,
    differences,
    pack,
    seal,
    set_damaged_aside,
    unpack,
    unseal,
)

HEADER = Header(
    step=100, steps_asked=500, time_ps=0.2, timestep_ps=0.002, atoms=3, identity="me", system_sha256="s", integrator="leap-frog",
    platform="CPU", precision="mixed", device="{}", openmm_version="8.6.1", extra='{"random": "-- > <!-- mdactors"}',
)  # fmt: skip
XML = '<?xml version="1.0" ?>\n<State><Positions/></State>'


def header(**changes: Any) -> Header:
    return msgspec.structs.replace(HEADER, **changes)


@given(st.binary(max_size=300))
def test_what_was_packed_comes_out(payload: bytes) -> None:
    read, data = unpack(pack(HEADER, payload))
    assert data == payload
    assert msgspec.structs.replace(read, payload_sha256="") == HEADER


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_one_flipped_bit_anywhere_is_found(place: int, mask: int) -> None:
    for whole, read in ((pack(HEADER, b"x" * 50), unpack), (seal(HEADER, XML), unseal)):
        data = bytearray(whole)
        data[place % len(data)] ^= mask
        with pytest.raises(DamagedError):
            read(bytes(data))


@given(st.integers(0, 10_000))
def test_every_cut_is_found(place: int) -> None:
    for whole, read in ((pack(HEADER, b"x" * 50), unpack), (seal(HEADER, XML), unseal)):
        with pytest.raises(DamagedError):
            read(whole[: place % len(whole)])


def test_a_sealed_state_stays_the_same_xml_to_everybody_else() -> None:
    data = seal(HEADER, XML)
    assert ET.fromstring(data.decode()).tag == "State"
    read, text = unseal(data)
    assert text.rstrip() == XML
    assert read.extra == HEADER.extra


def write(folder: Path, name: str, step: int) -> None:
    data = pack(header(step=step), b"p") if name.endswith(".chk") else seal(header(step=step), XML)
    (folder / name).write_bytes(data)


def names(folder: Path) -> list[str]:
    return [candidate.name for candidate in candidates(folder)[0]]


def test_the_newest_comes_first_and_the_exact_form_before_the_portable(tmp_path: Path) -> None:
    for name, step in (
        ("checkpoint.chk", 200),
        ("state.xml", 200),
        ("checkpoint_prev.chk", 100),
        ("state_prev.xml", 100),
    ):
        write(tmp_path, name, step)
    assert names(tmp_path) == ["checkpoint.chk", "state.xml", "checkpoint_prev.chk", "state_prev.xml"]
    write(tmp_path, "state.xml", 300)  # killed between the two
    assert names(tmp_path)[0] == "state.xml"


def test_half_a_checkpoint_is_passed_over_with_a_remark_and_set_aside(tmp_path: Path) -> None:
    write(tmp_path, "checkpoint.chk", 200)
    write(tmp_path, "state.xml", 200)
    whole = (tmp_path / "checkpoint.chk").read_bytes()
    (tmp_path / "checkpoint.chk").write_bytes(whole[: len(whole) // 2])
    found, remarks = candidates(tmp_path)
    assert [candidate.name for candidate in found] == ["state.xml"]
    assert "digest is wrong" in remarks[0]
    set_damaged_aside(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint.chk.damaged", "state.xml"]


def test_no_files_are_no_candidates_and_no_remarks(tmp_path: Path) -> None:
    assert candidates(tmp_path) == ([], [])


EXACT = Candidate("checkpoint.chk", "checkpoint", HEADER)
PORTABLE = Candidate("state.xml", "state", HEADER)


def test_the_exact_form_is_taken_where_everything_is_the_same() -> None:
    assert choose([EXACT, PORTABLE], HEADER) == (EXACT, [])


@pytest.mark.parametrize("field", ["openmm_version", "platform", "precision", "device", "system_sha256", "integrator"])
def test_the_portable_form_is_taken_elsewhere_and_says_that_it_is_not_bitwise(field: str) -> None:
    chosen, remarks = choose([EXACT, PORTABLE], header(**{field: "other"}))
    assert chosen == PORTABLE
    assert field in remarks[0]
    assert "not bitwise" in remarks[1]


def test_another_time_step_takes_the_portable_form() -> None:
    assert choose([EXACT, PORTABLE], header(timestep_ps=0.001))[0] == PORTABLE


def test_nothing_of_another_job_is_taken() -> None:
    chosen, remarks = choose([EXACT, PORTABLE], header(identity="somebody else"))
    assert chosen is None
    assert len(remarks) == 2


def test_the_length_of_the_run_may_change() -> None:
    assert differences(EXACT, header(steps_asked=10_000, step=0, time_ps=0.0)) == []
