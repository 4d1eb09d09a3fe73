"""The one encoder and decoder: what goes in comes out, and what can't be read says why."""

from __future__ import annotations

import importlib
import json
import pkgutil
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import events
from events import upcast
from events.attempts import AttemptProgressed
from events.base import Event, Record
from events.codec import (
    BY_NAME,
    EVENT_TYPES,
    STORED_AS,
    UnknownEventError,
    decode,
    encode,
    join_line,
    line,
    name_of,
    timestamp,
)
from events.devices import DeviceReported, ProbeRequested
from tests.builders import START, a_submission
from tests.events.strategies import any_of

ANY_EVENT = st.one_of([any_of(kind) for kind in EVENT_TYPES])


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda kind: kind.__name__)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_every_event_comes_back_as_it_was(kind: type[Event], data: st.DataObject) -> None:
    event = data.draw(any_of(kind))
    name, version = STORED_AS[kind]
    assert decode(name, version, encode(event)) == event
    assert decode(name, version, encode(event).decode()) == event


def test_every_fact_of_the_language_is_known_by_its_class_name() -> None:
    for module in pkgutil.iter_modules(events.__path__):
        importlib.import_module(f"events.{module.name}")
    assert set(EVENT_TYPES) == set(Event.__subclasses__())
    assert {name: kind.__name__ for name, kind in BY_NAME.items()} == {name: name for name in BY_NAME}
    assert [name_of(a_submission()), STORED_AS[ProbeRequested]] == ["JobSubmitted", ("ProbeRequested", 1)]


def test_an_event_of_no_known_name_is_refused() -> None:
    with pytest.raises(UnknownEventError, match="event 'JobTeleported' is not known to this version of mdactors"):
        decode("JobTeleported", 1, b"{}")


def test_a_newer_version_is_refused_and_says_up_to_which_is_known() -> None:
    with pytest.raises(UnknownEventError, match=r"'ProbeRequested' has version 2; .* knows up to 1"):
        decode("ProbeRequested", 2, b'{"type":"ProbeRequested"}')


def test_an_older_version_is_brought_to_the_present_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeviceReported, "VERSION", 3)
    monkeypatch.setitem(upcast.STEPS, ("DeviceReported", 1), lambda old: old | {"device": f"cuda:{old['gpu']}"})
    monkeypatch.setitem(upcast.STEPS, ("DeviceReported", 2), lambda old: old | {"condition": old["state"]})
    old = b'{"type":"DeviceReported","gpu":1,"state":"lost"}'
    assert decode("DeviceReported", 1, old) == DeviceReported(device="cuda:1", condition="lost")
    with pytest.raises(upcast.MissingStepError):
        decode("DeviceReported", 0, old)


def test_a_body_of_another_shape_is_refused_by_its_field() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.condition"):
        decode("DeviceReported", 1, b'{"type":"DeviceReported","device":"cpu:0","condition":"sleepy"}')
    with pytest.raises(msgspec.ValidationError, match="ProbeRequested"):
        decode("DeviceReported", 1, b'{"type":"ProbeRequested"}')


def test_a_field_that_is_not_known_here_is_passed_over() -> None:
    assert decode("ProbeRequested", 1, b'{"type":"ProbeRequested","by":"ada","why":"new"}') == ProbeRequested(by="ada")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ANY_EVENT, st.integers(0, 2**40), st.integers(0, 2**40), st.floats(0, 4e9))
def test_a_line_is_the_record_in_one_line_of_json(event: Event, seq: int, cause: int, time: float) -> None:
    text = line(Record(seq, time, cause, event))
    assert "\n" not in text
    assert text == join_line(seq, time, cause, encode(event).decode())
    fields = json.loads(text)
    assert list(fields)[:4] == ["seq", "time", "cause", "type"]
    assert (fields.pop("seq"), fields.pop("time"), fields.pop("cause")) == (seq, timestamp(time), cause)
    assert fields == json.loads(encode(event))


@given(st.floats(0, 4e9))
def test_a_timestamp_names_the_time_to_the_microsecond(seconds: float) -> None:
    text = timestamp(seconds)
    assert text.endswith("Z")
    assert datetime.fromisoformat(text) == datetime.fromtimestamp(seconds, UTC)


def test_timestamps_are_in_utc() -> None:
    assert timestamp(START) == "2023-11-14T22:13:20.000000Z"


def test_what_is_left_out_is_not_written() -> None:
    assert encode(AttemptProgressed(job=1, attempt=2, step=3)) == (
        b'{"type":"AttemptProgressed","job":1,"attempt":2,"step":3}'
    )
