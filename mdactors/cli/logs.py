"""The engine's own output: what the newest attempt's process wrote."""

from __future__ import annotations

from mdactors.errors import NoPlatformError

TYPE_CHECKING = False  # known to type checkers; the typing module would cost a tenth of a whole verb
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator
    from typing import Any

    from mdactors.cli.context import Context
    from mdactors.views.logs import Stream


def configure(parser: ArgumentParser) -> None:
    """Add this verb's options."""
    parser.add_argument("job", type=int, metavar="JOB")
    parser.add_argument("-f", "--follow", action="store_true", help="go on as it grows, until the job ends")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--stdout", action="store_const", const="stdout", dest="stream", help="only standard output")
    which.add_argument("--stderr", action="store_const", const="stderr", dest="stream", help="only standard error")
    which.add_argument(
        "--engine-log", action="store_const", const="engine", dest="stream", help="the log file that the engine keeps"
    )
    parser.set_defaults(stream="auto")


def run(context: Context) -> int:
    """Print it, byte for byte."""
    empty = True
    for piece in _pieces(context):
        context.out.raw(piece)
        empty = False
    if empty:
        context.out.note(_why_nothing(context))
    return 0


def _why_nothing(context: Context) -> str:
    job = _job(context)
    if any(attempt["started_at"] is not None for attempt in job["attempts"]):
        return f"job {job['job']} has written nothing there"
    why = f": {job['reason']}" if job["reason"] else ""
    return f"job {job['job']} {'has not run yet' if job['ended_at'] is None else 'never ran'}{why}"


def _job(context: Context) -> Any:  # noqa: ANN401 - a JSON document
    try:
        return context.client.get(f"/v1/jobs/{context.options.job}")
    except NoPlatformError:
        from mdactors.cli.stopped import Stopped  # noqa: PLC0415 - reading the log costs more than asking

        return Stopped(context.state).job(context.options.job)


def _pieces(context: Context) -> Iterator[bytes]:
    options = context.options
    try:
        path = f"/v1/jobs/{options.job}/logs"
        reader = context.out.descriptor
        yield from context.client.stream(path, reader=reader, stream=options.stream, follow=options.follow)
    except NoPlatformError:
        yield from _from_files(context, options.stream)
        if options.follow:
            context.out.note(f"no platform is running on {context.state}: this is what there is by now")


def _from_files(context: Context, stream: Stream) -> Iterator[bytes]:
    from pathlib import Path  # noqa: PLC0415 - reading the log costs more than asking

    from mdactors.cli.stopped import Stopped  # noqa: PLC0415
    from mdactors.views.logs import find  # noqa: PLC0415

    attempt = Stopped(context.state).row(context.options.job).attempt
    path = find(Path(attempt.folder), attempt.number, stream) if attempt and attempt.folder else None
    if path is None:
        return
    with path.open("rb") as file:
        while piece := file.read(64 * 1024):
            yield piece
