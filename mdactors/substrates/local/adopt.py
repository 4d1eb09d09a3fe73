"""What became of an attempt, by lock, claim, records and process table.

| lock | claim | shim's record | exit record | then |
| --- | --- | --- | --- | --- |
| any | no | - | - | absent |
| held | yes | yes | any | running; also where only the engine outlived its shim |
| held | yes | no | no | running: its shim is about to write its record |
| free | yes | no | no | absent: the launcher died before the shim began |
| free | yes | any | whole | ended |
| free | yes | yes, or torn | no, or torn | vanished |

Processes that left both the lock and the group of the shim but work in the job's folder count like a held lock.
"""

from __future__ import annotations

import anyio

from events.attempts import Handle
from mdactors.ports import Found
from mdactors.substrates.local.place import Place
from mdactors.substrates.local.processes import handle_of, holders
from mdactors.substrates.local.records import parse_shim
from mdactors.substrates.local.watch import last_word, living

_LAUNCHING_SECONDS = 0.01
_LOOKS_MAX = 100


async def find(place: Place) -> Found:
    """Return what became of the attempt. Waits a second at most for a launch that is under way elsewhere."""
    for _ in range(_LOOKS_MAX):
        if found := look(place):
            return found
        await anyio.sleep(_LAUNCHING_SECONDS)
    return Found(state="running")


def look(place: Place) -> Found | None:
    """Return what became of the attempt; None: it is being launched at this moment."""
    if not place.claimed():
        return Found(state="absent")
    locked = place.locked()  # before the records: once the lock is free they don't change any more
    handle = read_shim(place)
    if locked:
        handle = handle or _newborn(place)
        return Found(state="running", handle=handle) if handle else None
    if handle is not None and living(place, handle):
        return Found(state="running", handle=handle)
    return _past(place, handle)


def read_shim(place: Place) -> Handle | None:
    """Return who ran the attempt, by the shim's own record."""
    try:
        with open(place.shim, "rb") as file:
            return parse_shim(file.read())
    except OSError:
        return None


def _past(place: Place, handle: Handle | None) -> Found:
    if record := last_word(place, handle):
        return Found(state="ended", handle=handle, exit=record)
    return Found(state="vanished" if place.ran() else "absent", handle=handle)


def _newborn(place: Place) -> Handle | None:
    """Return the shim that has the lock already and its record not yet: the leader of its session."""
    return next((handle_of(stat) for stat in holders(place.lock) if stat.pid == stat.session), None)
