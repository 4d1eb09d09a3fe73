"""What there is to run on."""

from __future__ import annotations

import msgspec
import pytest

from events.hardware import Absence, Capability, Device, Slot
from tests.builders import a_capability, a_device, a_slot, without


def test_a_device_that_no_user_numbers_has_no_index() -> None:
    assert a_device("cpu:0", index=None).index is None
    assert b"index" not in msgspec.json.encode(a_device("cpu:0", index=None))
    assert b'"index":0' in msgspec.json.encode(a_device("cpu:0", index=0))


def test_a_slot_runs_one_thread_where_nothing_else_is_said() -> None:
    assert (Slot(id="cpu:0/0", node="n0", device="cpu:0").threads, a_slot("cuda:0/1").device) == (1, "cuda:0")


def test_a_capability_is_ready_until_something_is_said_against_it() -> None:
    row = a_capability()
    assert (row.health, row.why, row.speed) == ("ready", "", 0)
    assert without(row)["id"] == "gromacs@2022.5/CPU/mixed@n0/cpu:0"


def test_two_capabilities_share_no_limits() -> None:
    assert a_capability().limits is not a_capability().limits


@pytest.mark.parametrize("field", ["node", "engine", "version", "backend", "precision", "device"])
def test_a_capability_says_which_build_runs_where(field: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert(without(a_capability(), field), Capability)


@pytest.mark.parametrize(
    ("thing", "kind", "wrong"),
    [
        (a_device(), Device, {"type": "abacus"}),
        (a_capability(), Capability, {"precision": "any"}),
        (a_capability(), Capability, {"health": "tired"}),
        (Absence(engine="lammps", what="lmp", why="not found"), Absence, {"why": None}),
    ],
)
def test_a_value_outside_the_vocabulary_is_refused(thing: msgspec.Struct, kind: type, wrong: dict[str, str]) -> None:
    with pytest.raises(msgspec.ValidationError, match=rf"\$\.{next(iter(wrong))}"):
        msgspec.convert(without(thing) | wrong, kind)
