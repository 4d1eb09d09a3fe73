"""What the shim writes, as values. Pure; garbage and torn records are no records."""

from __future__ import annotations

import re

from events.attempts import Handle
from events.outcome import ExitRecord
from mdactors.substrates.local.processes import parse_stat

_EXIT = re.compile(
    rb"^(?P<code>\d{1,3})\n"
    rb"\d+m\d+[.]\d+s \d+m\d+[.]\d+s\n"  # the shell's own times
    rb"(?P<user_minutes>\d+)m(?P<user>\d+[.]\d+)s (?P<system_minutes>\d+)m(?P<system>\d+[.]\d+)s\n"
    rb"end\n\Z",
    re.MULTILINE,
)
_SIGNALS_MAX = 64


def parse_shim(data: bytes) -> Handle | None:
    """Return who the shim was: its first two lines are the boot id and its /proc/PID/stat."""
    lines = data.split(b"\n", 2)
    stat = parse_stat(lines[1]) if len(lines) > 2 else None
    if stat is None or not lines[0].isascii():
        return None
    return Handle(pid=stat.pid, start_ticks=stat.start_ticks, boot_id=lines[0].decode())


def parse_exit(data: bytes, time: float, peak_bytes: int = 0) -> ExitRecord | None:
    """Return the exit record that `data` ends with, written at `time` (seconds since the epoch).

    A shell reports death by signal N as 128 + N; that is undone here, and an engine that exits with such a code by itself
    can't be told apart.
    """
    found = _EXIT.search(data)
    if found is None:
        return None
    return ExitRecord(
        code=_python_code(int(found["code"])),
        time=time,
        user_seconds=60 * int(found["user_minutes"]) + float(found["user"]),
        system_seconds=60 * int(found["system_minutes"]) + float(found["system"]),
        max_rss_bytes=peak_bytes,
    )


def _python_code(code: int) -> int:
    return 128 - code if 128 < code <= 128 + _SIGNALS_MAX else code
