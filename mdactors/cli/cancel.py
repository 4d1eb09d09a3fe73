"""End jobs; what they wrote is kept."""

from __future__ import annotations

from mdactors.cli import jobtable
from mdactors.cli.whoami import login_name
from mdactors.errors import NoPlatformError

TYPE_CHECKING = False  # known to type checkers; the typing module would cost a tenth of a whole verb
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from mdactors.cli.context import Context
    from mdactors.runtime.platform import Platform


PART = 1000
"""Jobs of one request; see `mdactors.wire.JOBS_MAX`."""


def configure(parser: ArgumentParser) -> None:
    """Add this verb's options."""
    parser.add_argument("jobs", nargs="+", type=int, metavar="JOB")


def run(context: Context) -> int:
    """Ask for their end."""
    by = login_name()
    rows = _asked(context, by) or _by_ourselves(context, by)
    if context.json:
        context.out.document(rows)
    else:
        jobtable.table(context.out, rows)
    return 0


def _asked(context: Context, by: str) -> Any:  # noqa: ANN401 - a JSON document
    jobs = context.options.jobs
    parts = (jobs[start : start + PART] for start in range(0, len(jobs), PART))
    try:
        answers = [context.client.post("/v1/cancel", {"jobs": part, "by": by})["jobs"] for part in parts]
    except NoPlatformError:
        return None
    return [row for answer in answers for row in answer]


def _by_ourselves(context: Context, by: str) -> Any:  # noqa: ANN401 - a JSON document
    """Cancel where no platform is running: engines that one left behind go on without it."""
    import msgspec  # noqa: PLC0415 - only where a platform of our own is needed

    from mdactors.cli.own import ask  # noqa: PLC0415
    from mdactors.cli.stopped import Stopped  # noqa: PLC0415
    from mdactors.views.jobs import job_row  # noqa: PLC0415

    numbers = context.options.jobs
    files = Stopped(context.state)
    for number in numbers:
        files.row(number)

    async def cancel(platform: Platform) -> Any:  # noqa: ANN401 - a JSON document
        await platform.cancel(numbers, by=by)
        await platform.finished(numbers)
        return msgspec.to_builtins([job_row(platform.jobs[number], platform.matrix) for number in numbers])

    return ask(context, cancel)
