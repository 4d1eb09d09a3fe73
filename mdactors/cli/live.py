"""A batch as a table that is kept up to date on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.measure import Measurement
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from mdactors.cli.inject import out_of_service
from mdactors.cli.text import amount, build, clock, count, printable, rate
from mdactors.core.lifecycle import ACTIVE, TERMINAL, Job
from mdactors.runtime.platform import Platform
from mdactors.views.jobs import JobRow, job_row

PACE_SECONDS = 0.25
"""Between two pictures."""

STYLES = {
    "running": "cyan",
    "assigned": "cyan",
    "ending": "cyan",
    "stopping": "yellow",
    "completed": "green",
    "failed": "red",
    "rejected": "red",
    "cancelled": "yellow",
}

HEADS = ("job", "name", "state", "slot", "engine", "step", "progress", "ns/day", "left")
NUMBERS = ("job", "step", "ns/day", "left")

YIELDING = ("name", "progress")
"""Columns that give way where the terminal is narrow; the others would say nothing with less."""

BAR_WIDTH = 16
NAME_WIDTH_MIN = 8

RESERVED_LINES = 6
"""Head, rule, counts and the prompt."""


async def watch(platform: Platform, numbers: Sequence[int], console: Console | None = None) -> None:
    """Show the jobs until cancelled; the last picture stays."""
    screen = console or Console()
    with Live(console=screen, auto_refresh=False, transient=True) as live:
        while True:
            live.update(picture(platform, numbers, screen.height - RESERVED_LINES), refresh=True)
            await anyio.sleep(PACE_SECONDS)


def picture(platform: Platform, numbers: Sequence[int], room: int) -> RenderableType:
    """Return the table of as many jobs as there is room for, the counts of all, and the devices that take no work."""
    jobs = [platform.jobs[number] for number in numbers]
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for head in HEADS:
        table.add_column(head, justify="right" if head in NUMBERS else "left", no_wrap=head not in YIELDING)
    for job in chosen(jobs, max(room, 3)):
        table.add_row(*_cells(job_row(job, platform.matrix)))
    told = [out_of_service(device, why, platform.state) for device, why in platform.matrix.unhealthy.items()]
    sick = [Text(printable(each), style="red") for each in told]
    return Group(table, Text(counts(jobs), style="dim"), *sick)


def chosen(jobs: Sequence[Job], room: int) -> list[Job]:
    """Return the jobs that are worth the room, by number: those under way, then those that ended last, then the next."""
    active = [job for job in jobs if job.state in ACTIVE]
    ended = sorted((job for job in jobs if job.state in TERMINAL), key=lambda job: job.ended_at or 0.0, reverse=True)
    waiting = [job for job in jobs if job.state not in ACTIVE and job.state not in TERMINAL]
    spare = max(0, room - len(active))
    head = min(len(waiting), spare - min(len(ended), spare // 2))
    kept = active + waiting[:head] + ended[: spare - head]
    return sorted(kept[:room], key=lambda job: job.job)


def counts(jobs: Sequence[Job]) -> str:
    """Return how many jobs are in which state."""
    states = [str(job.state) for job in jobs]
    return f"{amount(len(jobs), 'job')}: " + ", ".join(f"{states.count(each)} {each}" for each in sorted(set(states)))


def _cells(row: JobRow) -> tuple[RenderableType, ...]:
    return (
        str(row.job),
        _Name(printable(row.name), no_wrap=True, overflow="ellipsis"),
        Text(row.state, style=STYLES.get(row.state, "")),
        row.slot,
        build(row.engine, row.backend, row.precision) if row.attempt else row.engine,
        _steps(row),
        _bar(row),
        rate(row.ns_per_day),
        clock(row.seconds_left),
    )


def _steps(row: JobRow) -> str:
    if row.step is None:
        return ""
    return f"{count(row.step)}/{count(row.steps_asked)}" if row.steps_asked else count(row.step)


def _bar(row: JobRow) -> RenderableType:
    if row.state == "completed":
        return _Bar(1, 1)
    if row.step is None or not row.steps_asked:
        return ""
    return _Bar(row.steps_asked, min(row.step, row.steps_asked))


class _Name(Text):
    """A name, cut where there is less room."""

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(min(NAME_WIDTH_MIN, self.cell_len), self.cell_len)


class _Bar(ProgressBar):
    """A bar of the usual width, or shorter where there is less room."""

    def __init__(self, total: int, completed: int) -> None:
        super().__init__(total=total, completed=completed)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from super().__rich_console__(console, options.update(width=min(BAR_WIDTH, options.max_width)))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(4, min(BAR_WIDTH, options.max_width))
