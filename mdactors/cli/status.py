"""The platform at a glance: jobs by state, slots and what runs on them; or the whole story of one job."""

from __future__ import annotations

from mdactors.cli import jobtable
from mdactors.cli.inject import out_of_service
from mdactors.cli.text import amount, duration
from mdactors.errors import NoPlatformError

TYPE_CHECKING = False  # known to type checkers; the typing module would cost a tenth of a whole `status`
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from mdactors.cli.context import Context
    from mdactors.cli.stopped import Stopped

PAGE = 250


def configure(parser: ArgumentParser) -> None:
    """Add this verb's options."""
    parser.add_argument("job", nargs="?", type=int, metavar="JOB", help="tell the whole story of this job")
    parser.add_argument("--all", action="store_true", help="list every job")
    parser.add_argument("--state-filter", metavar="STATE", help="list the jobs in this state, or these (a,b)")


def run(context: Context) -> int:
    """Show it."""
    options = context.options
    source = _Source(context)
    if options.job is not None:
        shown = source.job(options.job)
        context.out.document(shown) if context.json else jobtable.story(context.out, shown)
    elif options.all or options.state_filter:
        rows = source.jobs(options.state_filter or "")
        context.out.document(rows) if context.json else jobtable.table(context.out, rows)
    else:
        shown = source.status()
        context.out.document(shown) if context.json else _glance(context, shown)
    return 0


class _Source:
    """The running platform, or else the files that one left."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._files: Stopped | None = None

    def status(self) -> Any:  # noqa: ANN401 - a JSON document
        try:
            return self._context.client.get("/v1/status")
        except NoPlatformError:
            return self._stopped().status()

    def job(self, number: int) -> Any:  # noqa: ANN401 - a JSON document
        try:
            return self._context.client.get(f"/v1/jobs/{number}")
        except NoPlatformError:
            return self._stopped().job(number)

    def jobs(self, states: str) -> list[Any]:
        rows: list[Any] = []
        while True:
            page = self._page(states, len(rows))
            rows += page["jobs"]
            if not page["jobs"] or len(rows) >= page["total"]:
                return rows

    def _page(self, states: str, offset: int) -> Any:  # noqa: ANN401 - a JSON document
        try:
            return self._context.client.get("/v1/jobs", state=states, offset=offset, limit=PAGE)
        except NoPlatformError:
            return self._stopped().jobs(states, offset=offset, limit=PAGE)

    def _stopped(self) -> Stopped:
        from mdactors.cli.stopped import Stopped  # noqa: PLC0415 - reading the log costs more than asking

        self._files = self._files or Stopped(self._context.state)
        return self._files


def _glance(context: Context, shown: dict[str, Any]) -> None:
    out = context.out
    out.line(_headline(shown))
    if shown["closed"]:
        out.line(out.paint(f"takes no new work: {shown['closed']}", "red"))
    out.line(_counts(shown))
    if shown["slots"]:
        out.line()
        rows = [
            (slot["slot"], slot["state"], str(slot["job"] or ""), slot["name"], slot["reason"])
            for slot in shown["slots"]
        ]
        out.table(("slot", "state", "job", "name", "why"), rows, right="job")
        sick = {slot["device"]: slot["reason"] for slot in shown["slots"] if slot["state"] == "unhealthy"}
        for device, why in sick.items():
            out.line(out.paint(out_of_service(device, why, shown["state_folder"]), "red"))
    for title, rows in (("active", shown["active"]), ("latest", shown["latest"])):
        if rows:
            out.line(f"\n{title}:")
            jobtable.table(out, rows)


def _headline(shown: dict[str, Any]) -> str:
    name = f"mdactors {shown['version']} on {shown['node']}"
    if not shown["running"]:
        return f"{name}: not running (read from {shown['state_folder']}, {amount(shown['last_seq'], 'record')})"
    return f"{name}, up {duration(shown['uptime_seconds'])}, {amount(shown['last_seq'], 'record')} in {shown['state_folder']}"


def _counts(shown: dict[str, Any]) -> str:
    counts = [f"{count} {state}" for state, count in shown["counts"].items() if count]
    return f"{amount(shown['total'], 'job')}: {', '.join(counts)}" if counts else "no jobs yet"
