"""Parts: what lies beyond the step that is resumed from is cut off, to the row and to the frame."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdactors.engines.openmm.parts import cut_beyond, energy_parts, frame_steps, frames_end, rows_end, trajectory_parts

HEAD = b"step,time_ps,potential\n"


def frame(step: int, atoms: int = 3, *, count: int = 10, magic: int = 1995) -> bytes:
    head = struct.pack(">iiif9fi", magic, atoms, step, 0.1 * step, *([1.0] * 9), atoms)
    if atoms <= 9:
        return head + b"p" * 12 * atoms
    length = struct.pack(">q" if magic == 2023 else ">i", count)
    return head + b"q" * 32 + length + b"d" * ((count + 3) // 4 * 4)


def rows(*steps: int) -> bytes:
    return HEAD + b"".join(b"%d,0.1,-5\n" % step for step in steps)


def test_rows_up_to_a_step_are_kept() -> None:
    assert rows_end(rows(0, 10, 20, 30), 20) == len(rows(0, 10, 20))
    assert rows_end(rows(0, 10), 50) == len(rows(0, 10))
    assert rows_end(rows(0, 10), -1) == len(HEAD)


def test_a_row_that_was_not_written_whole_is_cut() -> None:
    assert rows_end(rows(0, 10) + b"20,0.", 50) == len(rows(0, 10))


@pytest.mark.parametrize(("atoms", "magic"), [(3, 1995), (9, 1995), (10, 1995), (200, 2023)])
def test_frames_up_to_a_step_are_kept(atoms: int, magic: int) -> None:
    parts = [frame(step, atoms, count=17 + step, magic=magic) for step in (0, 5, 10)]
    data = b"".join(parts)
    assert frames_end(io.BytesIO(data), 5) == len(parts[0] + parts[1])
    assert frames_end(io.BytesIO(data), 99) == len(data)
    assert frames_end(io.BytesIO(data), -1) == 0


@given(st.integers(0, 400))
def test_a_cut_frame_is_dropped_and_no_cut_is_an_error(size: int) -> None:
    parts = [frame(step, 12, count=21) for step in (0, 5, 10)]
    end = frames_end(io.BytesIO(b"".join(parts)[:size]), 99)
    whole = len(parts[0])
    assert end == min(size // whole, 3) * whole


def test_earlier_parts_are_cut_where_the_next_one_begins(tmp_path: Path) -> None:
    (tmp_path / "energies.part0001.csv").write_bytes(rows(0, 10, 20, 30))
    (tmp_path / "traj.part0001.xtc").write_bytes(frame(100) + frame(120))
    (tmp_path / "traj.part0002.xtc").write_bytes(frame(140))
    cut_beyond(tmp_path, 20, frame_offset=100)
    assert energy_parts(tmp_path)[0].read_bytes() == rows(0, 10, 20)
    assert [part.name for part in trajectory_parts(tmp_path)] == ["traj.part0001.xtc"]
    assert frame_steps(tmp_path / "traj.part0001.xtc") == [100, 120]


def test_cutting_twice_changes_nothing_more(tmp_path: Path) -> None:
    (tmp_path / "energies.part0001.csv").write_bytes(rows(0, 10, 20))
    for _ in range(2):
        cut_beyond(tmp_path, 10, frame_offset=0)
        assert (tmp_path / "energies.part0001.csv").read_bytes() == rows(0, 10)


def test_a_file_that_is_no_trajectory_has_no_frames(tmp_path: Path) -> None:
    path = tmp_path / "x.xtc"
    path.write_bytes(b"garbage" * 20)
    assert frame_steps(path) == []
