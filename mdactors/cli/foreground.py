"""Run a batch right here: a platform of our own, a live table, and at the end a summary with the ledger's lines."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
import msgspec

from events.platform import Mode
from mdactors.cli import jobtable, ledger, verdicts
from mdactors.cli.batch import Batch
from mdactors.cli.context import PROGRAM, Context
from mdactors.cli.lines import tell
from mdactors.cli.own import config_of, live
from mdactors.cli.serve import overrides
from mdactors.cli.text import amount, duration
from mdactors.cli.whoami import login_name
from mdactors.config import Config
from mdactors.core.lifecycle import ACTIVE, TERMINAL
from mdactors.errors import InputError
from mdactors.ports import Submission
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
    def over(self) -> bool:
        """Every job of the batch has ended."""
        return all(row.ended_at is not None for row in self.rows)

    @property
    def code(self) -> int:
        """The exit code: 0 only if everything was accepted and every job completed."""
        if self.detached and not (self.rows and self.over):
            return INTERRUPTED
        return 0 if verdicts.accepted(self.answers) and all(row.state == "completed" for row in self.rows) else 1


def run_here(context: Context, batches: Sequence[Batch]) -> int:
    """Run the batch (or, dry, only negotiate) and report; return the exit code."""
    course = Course()
    started = time.monotonic()  # noqa: TID251 - no platform, no Clock
    live(_main, context, config_of(context, **overrides(context.options)), batches, course)
    course.seconds = time.monotonic() - started  # noqa: TID251 - no platform, no Clock
    _report(context, course)
    return course.code


async def _main(context: Context, config: Config, batches: Sequence[Batch], course: Course) -> None:
    mode: Mode = "look" if context.options.dry_run else "work"
    # Signals are caught for as long as there is a platform: a second Ctrl-C must not tear up what the first one began.
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with context.assemble(config, mode=mode) as platform:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_detach, signals, course, tasks.cancel_scope)
                await (_preview if context.options.dry_run else _run)(context, platform, batches, course)
                tasks.cancel_scope.cancel()
            jobs = [platform.jobs[number] for number in course.numbers]
            course.rows = [job_row(job, platform.matrix) for job in jobs]
            course.active = [job.job for job in jobs if job.state in ACTIVE]


async def _preview(context: Context, platform: Platform, batches: Sequence[Batch], course: Course) -> None:
    for batch in batches:
        found = await platform.preview(batch.entries, base=batch.base, owner=login_name())
        course.answers += _answers(batch, found)


async def _run(context: Context, platform: Platform, batches: Sequence[Batch], course: Course) -> None:
    """Submit all, and wait until all (and what others submit meanwhile) have ended; meanwhile show how they are."""
    since, before = platform.last_seq, platform.jobs.last_number
    taken: list[list[Submission]] = []
    for batch in batches:
        with anyio.CancelScope(shield=True):  # what is durable has to be in the report
            taken.append(await platform.submit(batch.entries, base=batch.base, owner=login_name()))
            course.answers += _answers(batch, taken[-1])
        await anyio.lowlevel.checkpoint_if_cancelled()
    known = [await platform.verdicts(submissions) for submissions in taken]
    course.answers = [answer for pair in zip(batches, known, strict=True) for answer in _answers(*pair)]
    if not context.json:
        verdicts.show(context.out, course.answers)
    numbers = course.numbers
    while numbers:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_watch, context, platform, numbers, since)
            await platform.finished(numbers)
            tasks.cancel_scope.cancel()
        # Other `submit`s found us running and left their jobs to us: nobody else would start them.
        if numbers := [job for job in range(before + 1, platform.jobs.last_number + 1) if _goes_on(platform, job)]:
            context.out.note(f"going on with {amount(len(numbers), 'job')} of other batches; Ctrl-C leaves them")
            since = platform.last_seq


def _goes_on(platform: Platform, job: int) -> bool:
    return job in platform.jobs and platform.jobs[job].state not in TERMINAL


def _answers(batch: Batch, submissions: Sequence[Submission]) -> list[dict[str, Any]]:
    return [{"file": batch.file} | msgspec.to_builtins(submitted(each)) for each in submissions]


async def _detach(signals: Any, course: Course, scope: anyio.CancelScope) -> None:  # noqa: ANN401 - anyio gives it no name
    async for _ in signals:
        course.detached = True
        scope.cancel()
        return


async def _watch(context: Context, platform: Platform, numbers: Sequence[int], since: int) -> None:
    if context.out.animated and not context.json:
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
    if course.detached and not course.over:
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
