"""A batch as plain lines, one for each change of a job's state or of a device's health: for logs and pipes."""

from __future__ import annotations

from collections.abc import Sequence

from events.base import Event
from events.devices import DeviceRecovered, DeviceUnhealthy
from mdactors.cli.inject import out_of_service
from mdactors.cli.output import Output
from mdactors.cli.text import build, rate
from mdactors.core.lifecycle import STATE_FACTS
from mdactors.runtime.platform import Platform
from mdactors.views.jobs import JobRow, job_row

PASSING = ("assigned", "ending")
"""States that last for a moment and say nothing new."""


async def tell(out: Output, platform: Platform, numbers: Sequence[int], since: int) -> None:
    """Write a line whenever the state of one of the jobs changes, or the health of a device, until cancelled."""
    wanted, told = set(numbers), dict.fromkeys(numbers, "queued")
    async for record in platform.events(since=since, follow=True):
        if news := _of_device(record.event, platform):
            out.note(news)
        number = getattr(record.event, "job", None)
        if number in wanted and type(record.event) in STATE_FACTS:
            row = job_row(platform.jobs[number], platform.matrix)
            if row.state != told[number] and row.state not in PASSING:
                told[number] = row.state
                out.note(sentence(row))


def _of_device(event: Event, platform: Platform) -> str:
    match event:
        case DeviceUnhealthy(device=device, reason=reason):
            return out_of_service(device, reason, platform.state)
        case DeviceRecovered(device=device):
            return f"{device} takes work again"
        case _:
            return ""


def sentence(row: JobRow) -> str:
    """Return where a job stands, in a line."""
    where = f" on {row.slot} ({build(row.engine, row.backend, row.precision)})" if row.state == "running" else ""
    speed = f", {rate(row.ns_per_day)} ns/day" if row.state == "completed" and row.ns_per_day else ""
    why = f": {row.reason}" if row.reason else ""
    return f"job {row.job} {row.name}: {row.state}{where}{speed}{why}"
