"""Is the event log whole? With --repair, a damaged one is cut where it stops being readable; the old file is kept."""

from __future__ import annotations

from pathlib import Path

from mdactors.cli.text import amount
from mdactors.errors import JournalError

TYPE_CHECKING = False  # known to type checkers; the typing module would cost a tenth of a whole verb
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from mdactors.cli.context import Context
    from mdactors.runtime.journal.check import Report


def configure(parser: ArgumentParser) -> None:
    """Add this verb's options."""
    parser.add_argument("--repair", action="store_true", help="cut a damaged log where it stops being readable")


def run(context: Context) -> int:
    """Say what was found; exit code 1 where the log is damaged (and was not repaired)."""
    from mdactors.runtime.journal.check import check  # noqa: PLC0415
    from mdactors.runtime.journal.files import JOURNAL_NAME  # noqa: PLC0415 - `--help` needs none of it

    path = Path(context.state) / JOURNAL_NAME
    report = check(path)
    kept = _repair(context, path) if context.options.repair and not report.whole else None
    if context.json:
        import msgspec  # noqa: PLC0415 - as above

        context.out.document({**msgspec.to_builtins(report), "whole": report.whole, "kept": str(kept or "")})
    else:
        _tell(context, report, kept)
    return 0 if report.whole or kept else 1


def _repair(context: Context, path: Path) -> Path:
    from datetime import UTC, datetime  # noqa: PLC0415 - as above

    from mdactors.runtime.journal.check import salvage  # noqa: PLC0415
    from mdactors.runtime.statelock import hold  # noqa: PLC0415

    now = datetime.now(UTC)  # noqa: TID251 - a file's name, in a command that has no platform and so no clock
    with hold(Path(context.state), now.isoformat(timespec="seconds")):
        try:
            return salvage(path, f"{now:%Y%m%dT%H%M%SZ}")[1]
        except OSError as error:
            raise JournalError(f"{path} can't be repaired: {error}; nothing of it is lost: try again") from error


def _tell(context: Context, report: Report, kept: Path | None) -> None:
    out = context.out
    readable = amount(report.readable_to, "record")
    if report.whole:
        out.line(f"{report.path}: {readable}, whole")
        out.line(f"state {report.digest}")
        return
    out.line(f"{report.path}: readable up to record {report.readable_to}, then: {report.fault}")
    if kept is not None:
        out.line(f"cut there; the damaged file is kept as {kept}")
        out.line("the next `serve` or `submit` reads what was lost back from the job folders")
    else:
        out.line(
            "stop the platform, then `check --repair` cuts it there, and keeps the damaged file; job folders are not touched"
        )
