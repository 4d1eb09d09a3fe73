"""Run a batch right here: a platform of our own, a live table, and at the end a summary with the ledger's lines."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

import anyio
import anyio.abc
import msgspec

from mdactors.cli import jobtable, ledger, verdicts
from mdactors.cli.batch import Batch
from mdactors.cli.context import PROGRAM, Context
from mdactors.cli.lines import tell
from mdactors.cli.own import config_of, live
from mdactors.cli.serve import overrides
from mdactors.cli.text import amount, duration
from mdactors.cli.whoami import login_name
from mdactors.config import Config
from mdactors.core.lifecycle import ACTIVE
from mdactors.errors import InputError
from mdactors.runtime.platform import Platform
from mdactors.views.jobs import JobRow, job_row
from mdactors.wire import submitted

INTERRUPTED = 130


class Course:
    """What happened to a batch."""

    def __init__(self) -> None:
        self.answers: list[dict[str, Any]] = []
        self.rows: list[JobRow] = []
        self.detached = False
        self.active: list[int] = []
        """Jobs of the batch whose engines go on without us."""
        self.seconds = 0.0

    @property
    def numbers(self) -> list[int]:
        """The jobs of the batch that can run."""
        return [answer["job"] for answer in self.answers if answer["job"] and answer["state"] not in verdicts.REFUSED]

    @property
    def code(self) -> int:
        """The exit code: 0 only if everything was accepted and every job completed."""
        if self.detached:
            return INTERRUPTED
        return 0 if verdicts.accepted(self.answers) and all(row.state == "completed" for row in self.rows) else 1


def run_here(context: Context, batches: Sequence[Batch]) -> int:
    """Run the batch (or, dry, only negotiate) and report; return the exit code."""
    course = Course()
    started = time.monotonic()
    live(_main, context, config_of(context, **overrides(context.options)), batches, course)
    course.seconds = time.monotonic() - started
    _report(context, course)
    return course.code


async def _main(context: Context, config: Config, batches: Sequence[Batch], course: Course) -> None:
    async with context.assemble(config, mode="look" if context.options.dry_run else "work") as platform:
        if context.options.dry_run:
            course.answers = await _preview(platform, batches)
            return
        since = platform.last_seq
        course.answers = await _submit(platform, batches)
        if not context.json:
            verdicts.show(context.out, course.answers)
        await _see_through(context, platform, course, since)
        course.rows = [job_row(platform.jobs[number], platform.matrix) for number in course.numbers]
        course.active = [number for number in course.numbers if platform.jobs[number].state in ACTIVE]


async def _preview(platform: Platform, batches: Sequence[Batch]) -> list[dict[str, Any]]:
    answers = []
    for batch in batches:
        found = await platform.preview(batch.entries, base=batch.base, owner=login_name())
        answers += [{"file": batch.file} | msgspec.to_builtins(submitted(each)) for each in found]
    return answers


async def _submit(platform: Platform, batches: Sequence[Batch]) -> list[dict[str, Any]]:
    answers = []
    for batch in batches:
        taken = await platform.submit(batch.entries, base=batch.base, owner=login_name())
        known = await platform.verdicts(taken)
        answers += [{"file": batch.file} | msgspec.to_builtins(submitted(each)) for each in known]
    return answers


async def _see_through(context: Context, platform: Platform, course: Course, since: int) -> None:
    """Wait until all have ended, or somebody presses Ctrl-C; meanwhile show how they are."""
    if not course.numbers:
        return
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_detach, signals, course, tasks.cancel_scope)
            tasks.start_soon(_watch, context, platform, course.numbers, since)
            await platform.finished(course.numbers)
            tasks.cancel_scope.cancel()


async def _detach(signals: Any, course: Course, scope: anyio.CancelScope) -> None:  # noqa: ANN401 - anyio gives it no name
    async for _ in signals:
        course.detached = True
        scope.cancel()
        return


async def _watch(context: Context, platform: Platform, numbers: Sequence[int], since: int) -> None:
    if sys.stdout.isatty() and not context.json:
        from mdactors.cli.live import watch  # noqa: PLC0415 - rich, only where a person looks

        await watch(platform, numbers)
    else:
        await tell(context.out, platform, numbers, since)


# ---------------------------------------------------------------- afterwards


def _report(context: Context, course: Course) -> None:
    if context.json:
        rows = msgspec.to_builtins(course.rows)
        context.out.document({"submissions": course.answers, "jobs": rows, "ledger": _ledger(context, course)})
    elif context.options.dry_run:
        verdicts.show(context.out, course.answers)
    else:
        _summary(context, course)
    if course.detached:
        _how_to_go_on(context, course)


def _summary(context: Context, course: Course) -> None:
    out = context.out
    if not course.rows:
        return
    out.line()
    jobtable.table(out, [msgspec.to_builtins(row) for row in course.rows])
    states = [row.state for row in course.rows]
    counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    out.line(f"\n{amount(len(states), 'job')} in {duration(course.seconds)}: {counts}")
    if lines := _ledger(context, course):
        out.line(f"\nledger ({context.state}/{ledger.LEDGER_NAME}):")
        ledger.show(out, lines)


def _ledger(context: Context, course: Course) -> list[ledger.Line]:
    wanted = {str(number) for number in course.numbers}
    try:
        return [line for line in ledger.read(context.state) if line.get("job") in wanted]
    except InputError:
        return []  # nothing was run


def _how_to_go_on(context: Context, course: Course) -> None:
    note = context.out.note
    waiting = sum(row.ended_at is None for row in course.rows) - len(course.active)
    note(f"\ndetached: {amount(len(course.active), 'job')} under way, whose engines go on; {waiting} waiting")
    note(f"  adopt them and go on:  {PROGRAM} --state {context.state} serve")
    if course.active:
        note(f"  stop them:             {PROGRAM} --state {context.state} cancel {' '.join(map(str, course.active))}")
