from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdactors.engines.gromacs.checkpoint import (
    CheckpointError,
    obstacle_to_appending,
    parse_checkpoint,
    read_checkpoint,
)
from tests.mdactors.engines.gromacs.conftest import a_checkpoint, corpus_bytes, params

WHOLE = a_checkpoint(4321, {"md.log": 300, "traj_comp.xtc": 200, "ener.edr": 100}, part=3)


@pytest.mark.parametrize("row", params("cpt"))
def test_real_checkpoints(row: dict[str, str]) -> None:
    data = corpus_bytes(row["file"])
    found = parse_checkpoint(data, data)
    facts = dict(re.findall(r"(step|t|simulation part|checkpoint file version|natoms)=([\d.]+)", row["other"]))
    assert found.version == row["engine_version"]
    assert found.double is (row["precision"] == "double")
    assert (found.step, found.part) == (int(facts["step"]), int(facts["simulation part"]))
    assert (found.format, found.atoms) == (int(facts["checkpoint file version"]), int(facts["natoms"]))
    assert found.time_ps == pytest.approx(float(facts["t"]))
    assert any(name.endswith(".edr") for name in found.outputs)


@pytest.mark.parametrize("row", params("cpt"))
@pytest.mark.parametrize("missing", [1, 4, 500])
def test_real_checkpoints_that_were_cut_off(row: dict[str, str], missing: int) -> None:
    data = corpus_bytes(row["file"])[:-missing]
    with pytest.raises(CheckpointError, match="cut off"):
        parse_checkpoint(data, data)


def test_everything_that_one_says_of_itself() -> None:
    found = parse_checkpoint(WHOLE, WHOLE)
    assert (found.step, found.part, found.atoms, found.format) == (4321, 3, 648, 22)
    assert found.outputs == {"md.log": 300, "traj_comp.xtc": 200, "ener.edr": 100}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"no checkpoint, but text", "not a checkpoint"),
        (WHOLE[:80], "cut off"),
        (b"\xff" + WHOLE[1:], "not a checkpoint"),
    ],
)
def test_why_one_can_not_be_trusted(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "state.cpt"
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=words):
        read_checkpoint(path)


def test_none_at_all(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="none"):
        read_checkpoint(tmp_path / "state.cpt")


@given(st.binary(max_size=400))
def test_garbage_raises_nothing_but_its_own_error(data: bytes) -> None:
    with pytest.raises(CheckpointError):
        parse_checkpoint(data, data)


@given(st.integers(0, len(WHOLE) - 1))
def test_every_truncation_is_seen(length: int) -> None:
    with pytest.raises(CheckpointError):
        parse_checkpoint(WHOLE[:length], WHOLE[:length])


def test_appending_needs_every_output_as_long_as_it_was(tmp_path: Path) -> None:
    found = parse_checkpoint(WHOLE, WHOLE)
    for name, size in found.outputs.items():
        (tmp_path / name).write_bytes(b"x" * (size + 5))
    assert obstacle_to_appending(found, tmp_path) == ""
    (tmp_path / "ener.edr").write_bytes(b"x" * 99)
    assert obstacle_to_appending(found, tmp_path) == "ener.edr has 99 bytes, it had 100"
    (tmp_path / "md.log").unlink()
    assert obstacle_to_appending(found, tmp_path) == "md.log is missing"
