"""What every fact has in common."""

from __future__ import annotations

import gc

import msgspec
import pytest

from events.base import Event, Record
from events.codec import EVENT_TYPES
from events.devices import DeviceRecovered, DeviceUnhealthy


def test_a_fact_can_not_be_changed() -> None:
    fact = DeviceUnhealthy(device="cpu:0", reason="hot")
    with pytest.raises(AttributeError, match="immutable"):
        fact.reason = "cold"  # type: ignore[misc]
    with pytest.raises(AttributeError, match="immutable"):
        Record(1, 0.0, 0, fact).seq = 2  # type: ignore[misc]


def test_facts_are_equal_by_what_they_say_and_of_what_kind() -> None:
    sick: Event = DeviceUnhealthy(device="a", reason="b")
    well: Event = DeviceRecovered(device="a", reason="b")
    assert sick == DeviceUnhealthy(device="a", reason="b")
    assert sick != well


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda kind: kind.__name__)
def test_every_fact_is_frozen_named_and_of_a_version(kind: type[Event]) -> None:
    config = kind.__struct_config__
    assert config.frozen
    assert config.omit_defaults
    assert not config.forbid_unknown_fields
    assert config.tag_field == "type"
    assert config.tag == kind.__name__
    assert kind.VERSION >= 1


def test_the_journal_is_no_work_for_the_garbage_collector() -> None:
    fact = DeviceUnhealthy(device="cpu:0", reason="hot")
    assert not gc.is_tracked(fact)
    assert not gc.is_tracked(Record(1, 0.0, 0, fact))


def test_a_record_is_a_place_a_time_and_a_cause() -> None:
    record = Record(3, 1.5, 2, DeviceRecovered(device="cpu:0"))
    assert msgspec.structs.astuple(record)[:3] == (3, 1.5, 2)
