"""The one encoder and decoder of events, and the JSON-lines form that `tail` prints."""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from events import attempts, devices, jobs, platform, results
from events.base import Event, Record
from events.upcast import upcast

EVENT_TYPES: tuple[type[Event], ...] = tuple(
    kind
    for module in (jobs, attempts, devices, results, platform)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event
)
"""Every kind of fact, ephemeral ones included."""

BY_NAME: dict[str, type[Event]] = {str(kind.__struct_config__.tag): kind for kind in EVENT_TYPES}

STORED_AS: dict[type[Event], tuple[str, int]] = {kind: (name, kind.VERSION) for name, kind in BY_NAME.items()}
"""Event type -> name and version under which it is stored."""


@functools.cache
def _decoder(name: str) -> msgspec.json.Decoder[Event]:
    return msgspec.json.Decoder(BY_NAME[name])


class UnknownEventError(ValueError):
    """The journal holds an event that this version does not know; read it with the version that wrote it, or a newer one."""


def name_of(event: Event) -> str:
    """Return the stable name under which an event is stored."""
    return STORED_AS[type(event)][0]


encode: Callable[[Event], bytes] = msgspec.json.Encoder().encode
"""Return an event as JSON, its name under `type`. Bound directly: it is called for every event."""


def decode(name: str, version: int, body: bytes | str) -> Event:
    """Return the event that was stored as `name`, version `version`.

    Raises:
        UnknownEventError: the name is not known, or the version is newer than ours.
        msgspec.ValidationError: the body does not have the event's shape.
    """
    if name not in BY_NAME:
        raise UnknownEventError(f"event {name!r} is not known to this version of mdactors")
    current = BY_NAME[name].VERSION
    if version == current:
        return _decoder(name).decode(body)
    if version > current:
        raise UnknownEventError(f"event {name!r} has version {version}; this version of mdactors knows up to {current}")
    fields: dict[str, Any] = msgspec.json.decode(body)
    return msgspec.convert(upcast(name, version, current, fields), BY_NAME[name])


def timestamp(seconds: float) -> str:
    """Return an epoch time as ISO 8601 in UTC with microseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def line(record: Record) -> str:
    """Return the record as one line of JSON: seq, time, cause, type, then the event's own fields."""
    return join_line(record.seq, record.time, record.cause, encode(record.event).decode())


def join_line(seq: int, time: float, cause: int, body: str) -> str:
    """Return the JSON line for a stored row without decoding its body."""
    return f'{{"seq":{seq},"time":"{timestamp(time)}","cause":{cause},{body[1:]}'
