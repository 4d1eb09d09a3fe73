"""The event log folded again: the state at any point, the way to a decision, decisions made again, and what-if.

Reads the log of a state folder, of a running platform too, and changes nothing.
"""

from __future__ import annotations

import argparse
import math

from mdactors.cli import text
from mdactors.errors import InputError, UnknownJobError

TYPE_CHECKING = False  # known to type checkers; the typing module would cost a tenth of a whole verb
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator
    from typing import Any

    from events.base import Record
    from mdactors.cli.context import Context
    from mdactors.core.history import History
    from mdactors.core.whatif import Change, Course

SHOWN = ("jobs", "slots", "caps", "scheduler")
CHANGES = {"aging": float, "slots": int}


def configure(parser: ArgumentParser) -> None:
    """Add this verb's options."""
    point = parser.add_mutually_exclusive_group()
    point.add_argument("--until", type=int, metavar="SEQ", help="fold up to this record")
    point.add_argument("--at", type=moment, metavar="TIME", help="fold up to this time (ISO 8601, or epoch seconds)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--show", choices=SHOWN, default="jobs", help="what of the state (jobs)")
    what.add_argument("--step", action="store_true", help="show each record and what it changed; Enter goes on, q ends")
    what.add_argument("--why", type=int, metavar="JOB", help="the chain of facts that led to where a job stands")
    what.add_argument("--verify", action="store_true", help="make every decision again; tell the first that differs")
    what.add_argument(
        "--what-if",
        type=changes,
        metavar="CHANGES",
        help="the same jobs and durations with aging=PER_HOUR and/or slots=N (of each CPU)",
    )


def moment(given: str) -> float:
    """Return a point in time in epoch seconds."""
    from datetime import datetime  # noqa: PLC0415 - only here

    for read in (float, lambda iso: datetime.fromisoformat(iso).timestamp()):
        try:
            time = read(given)
        except (ValueError, OverflowError):
            continue
        if math.isfinite(time):
            return time
    raise argparse.ArgumentTypeError(f"{given!r} is no time: 2026-12-01T10:30:00, or seconds since 1970")


def changes(given: str) -> dict[str, float]:
    """Return what is to be different: `aging=0.5,slots=4`."""
    wanted: dict[str, float] = {}
    for part in given.split(","):
        name, _, value = part.partition("=")
        if name not in CHANGES:
            raise argparse.ArgumentTypeError(f"{name!r} can't be changed; what can: {', '.join(CHANGES)}")
        try:
            wanted[name] = CHANGES[name](value)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{name}={value!r} is no number") from None
        if not math.isfinite(wanted[name]):
            raise argparse.ArgumentTypeError(f"{name}={value} is no number")
        if wanted[name] < 0 or (name == "slots" and wanted[name] < 1):
            raise argparse.ArgumentTypeError(f"{name}={value} is too small")
    return wanted


def run(context: Context) -> int:
    """Show it."""
    options = context.options
    if options.step:
        return _step(context)
    if options.why is not None:
        return _why(context, options.why)
    if options.verify:
        return _verify(context)
    if options.what_if:
        return _what_if(context, options.what_if)
    return _show(context)


def _records(context: Context) -> Iterator[Record]:
    """Yield the log up to the wanted point."""
    from mdactors.cli.stopped import records  # noqa: PLC0415 - `--help` needs none of it

    options = context.options
    for record in records(context.state):
        if options.until is not None and record.seq > options.until:
            return
        if options.at is not None and record.time > options.at:
            return
        yield record
        if record.seq == options.until:
            return  # what follows may not be readable


# ---------------------------------------------------------------- the state


def _show(context: Context) -> int:
    from mdactors.core.history import History  # noqa: PLC0415 - as above

    history = History(_records(context))
    name, digest = context.options.show, history.digest()
    part = _part(history, name)
    if context.json:
        context.out.document({"seq": history.seq, "time": history.time, "digest": digest, name: part})
        return 0
    upto = text.moment(history.time) or "the beginning"
    context.out.line(f"{text.amount(history.seq, 'record')}, up to {upto}")
    context.out.line(f"state {digest}")
    context.out.line()
    _table(context, name, part)
    return 0


def _part(history: History, name: str) -> Any:  # noqa: ANN401 - a JSON document
    import msgspec  # noqa: PLC0415 - as above

    from mdactors.views.jobs import job_row  # noqa: PLC0415
    from mdactors.views.platform import matrix_view, slot_rows  # noqa: PLC0415

    parts = {
        "jobs": lambda: [job_row(row, history.matrix) for row in history.jobs.rows.values()],
        "slots": lambda: slot_rows(history.jobs, history.matrix),
        "caps": lambda: matrix_view(history.matrix).capabilities,
        "scheduler": history.line,
    }
    return msgspec.to_builtins(parts[name]())


def _table(context: Context, name: str, rows: list[dict[str, Any]]) -> None:
    from mdactors.cli import jobtable  # noqa: PLC0415 - as above

    if name == "jobs":
        jobtable.table(context.out, rows)
    elif rows:
        heads = tuple(name for name, value in rows[0].items() if not isinstance(value, dict))
        context.out.table(heads, [[_cell(row[head]) for head in heads] for row in rows])
    else:
        context.out.line("nothing waits" if name == "scheduler" else "nothing is known")


def _cell(value: object) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


# ---------------------------------------------------------------- the way


def _step(context: Context) -> int:
    import sys  # noqa: PLC0415 - as above

    from events.codec import line  # noqa: PLC0415
    from mdactors.core.history import History  # noqa: PLC0415

    history = History([])
    asks = sys.stdin.isatty() and sys.stdout.isatty() and not context.json
    for record in _records(context):
        changed = history.take(record)
        if context.json:
            context.out.record({"record": record.seq, "changed": changed})
            continue
        context.out.line(line(record))
        for what in changed:
            context.out.line(f"    {what}")
        if asks and sys.stdin.readline().strip().lower() in {"q", "quit"}:
            break
    return 0


def _why(context: Context, job: int) -> int:
    import json  # noqa: PLC0415 - as above

    from events.codec import line  # noqa: PLC0415
    from mdactors.core.why import why  # noqa: PLC0415

    chain = why(_records(context), job)
    if not chain:
        raise UnknownJobError(f"the log knows no job {job}")
    if context.json:
        context.out.document([json.loads(line(link.record)) for link in chain])
        return 0
    from mdactors.core.history import sentence  # noqa: PLC0415

    for link in chain:
        record = link.record
        because = f" because of {record.cause}" if record.cause else ""
        told = f"{record.seq:>6}  {text.moment(record.time)}  {sentence(record.event)}{because}"
        context.out.line(told if link.about else context.out.paint(told, "dim"))
    return 0


# ---------------------------------------------------------------- decisions


def _verify(context: Context) -> int:
    import msgspec  # noqa: PLC0415 - as above

    from mdactors.core.verifying import LOGIC, verify  # noqa: PLC0415

    verdict = verify(_records(context))
    if context.json:
        context.out.document(msgspec.to_builtins(verdict))
    elif verdict.difference is None:
        context.out.line(f"{verdict.decisions} decisions made again: all as they are in the log")
    else:
        _difference(context, verdict.difference)
    if verdict.foreign and not context.json:
        context.out.note(
            f"not judged: what was decided by logic {', '.join(map(str, verdict.foreign))} (ours: {LOGIC})"
        )
    return 0 if verdict.difference is None else 1


def _difference(context: Context, found: Any) -> None:  # noqa: ANN401 - a Difference; its module is loaded later
    from mdactors.core.history import sentence  # noqa: PLC0415 - as above

    out = context.out
    out.line(
        out.paint(f"{found.actor}, having seen record {found.seen}, decided otherwise in record {found.seq}:", "red")
    )
    for event in found.logged:
        out.line(f"  the log has    {sentence(event)}")
    for event in found.decided:
        out.line(f"  the core says  {sentence(event)}")


def _what_if(context: Context, wanted: dict[str, float]) -> int:
    import msgspec  # noqa: PLC0415 - as above

    from mdactors.core.whatif import Change, happened, what_if  # noqa: PLC0415

    log = list(_records(context))
    change: Change = msgspec.convert(wanted, Change)
    courses = {"happened": happened(log), "what if": what_if(log, change)}
    if not courses["happened"].jobs:
        raise InputError("no job in this log has run to its end: there is nothing to ask about")
    if context.json:
        context.out.document(msgspec.to_builtins(courses))
        return 0
    rows = [(name, *_course(course)) for name, course in courses.items()]
    context.out.table(("", "jobs", "makespan", "mean wait", "worst wait"), rows, right="jobs")
    return 0


def _course(course: Course) -> tuple[str, ...]:
    seconds = (course.makespan, course.mean_wait, course.worst_wait)
    return (str(course.jobs), *(f"{value:.1f} s" for value in seconds))
