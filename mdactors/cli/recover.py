"""The event log is lost or unreadable: make a new one from the job folders alone. Shows what it finds before it writes."""

from __future__ import annotations

from pathlib import Path

from mdactors.cli import text
from mdactors.errors import InputError

TYPE_CHECKING = False  # known to type checkers; the typing module would cost a tenth of a whole verb
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from mdactors.cli.context import Context
    from mdactors.core.lifecycle import Job
    from mdactors.runtime.platform import Platform


HEADS = ("job", "name", "attempts", "last", "step")


def configure(parser: ArgumentParser) -> None:
    """Add this verb's options."""
    parser.add_argument("--from", dest="folder", metavar="FOLDER", help="the state folder that lost its log (--state)")
    parser.add_argument("--yes", action="store_true", help="write the new log without asking")
    parser.add_argument("--anyway", action="store_true", help="set a readable log aside, too")


def run(context: Context) -> int:
    """Show a preview; write the new log where that is wanted."""
    _choose(context)
    _refuse_needless(context)
    found = _preview(context)
    if not context.json:
        context.out.line(f"{text.amount(len(found), 'job')} in the folders of {context.state}:")
        rows = [[str(row[name]) for name in HEADS[:4]] + [text.steps(row["step"], row["steps_asked"])] for row in found]
        context.out.table(HEADS, rows, right="job attempts step")
    written = bool(found) and _wanted(context)
    kept = _write(context) if written else None
    if context.json:
        context.out.document({"jobs": found, "written": written, "kept": str(kept or "")})
    elif written:
        context.out.line("a new log is written" + (f"; the old one is kept as {kept}" if kept else ""))
        context.out.line("`serve` goes on with what had not ended")
    else:
        context.out.note("nothing was written" + ("; --yes writes the new log" if found else ""))
    return 0 if written else 1


def _choose(context: Context) -> None:
    """Make the named folder the state folder; its `jobs` will do as well."""
    if context.options.folder is None:
        return
    folder = Path(context.options.folder).expanduser().absolute()
    folder = folder.parent if folder.name == "jobs" else folder
    if not (folder / "jobs").is_dir():
        raise InputError(f"--from {context.options.folder}: there is no folder {folder / 'jobs'} with jobs in it")
    context.state = str(folder)


def _refuse_needless(context: Context) -> None:
    from mdactors.runtime.journal.check import check  # noqa: PLC0415
    from mdactors.runtime.journal.files import JOURNAL_NAME  # noqa: PLC0415 - `--help` needs none of it

    path = Path(context.state) / JOURNAL_NAME
    if context.options.anyway or not path.is_file():
        return
    report = check(path)
    if report.readable_to and report.whole:
        raise InputError(
            f"{path} is whole ({text.amount(report.readable_to, 'record')}): nothing is lost; --anyway sets it aside"
        )
    if report.readable_to:
        raise InputError(
            f"{path} is readable up to record {report.readable_to}: `check --repair` keeps those; --anyway does not"
        )


def _preview(context: Context) -> list[dict[str, Any]]:
    """Let a platform find everything that the folders know, over a log in memory that nobody keeps."""
    from mdactors.cli.own import config_of, live  # noqa: PLC0415 - as above
    from mdactors.runtime.journal.memory import MemoryJournal  # noqa: PLC0415

    async def look() -> list[dict[str, Any]]:
        async with context.assemble(config_of(context), journal=MemoryJournal(), mode="look") as platform:
            return [_found(row) for _, row in sorted(platform.jobs.rows.items())]

    return live(look)


def _found(row: Job) -> dict[str, Any]:
    """What the last attempt came to; the rest follows when the platform starts."""
    attempt = row.attempt
    figures = attempt.figures if attempt else None
    return {
        "job": row.job,
        "name": row.submitted.spec.name,
        "attempts": len(row.attempts),
        "last": "waits" if attempt is None else attempt.outcome or "running",
        "step": figures.steps_done if figures else None,
        "steps_asked": figures.steps_asked if figures else None,
    }


def _wanted(context: Context) -> bool:
    import sys  # noqa: PLC0415 - as above

    if context.options.yes:
        return True
    if context.json or not sys.stdin.isatty():
        return False
    sys.stderr.write("write a new event log from this? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _write(context: Context) -> Path | None:
    """Set the old log aside and let a platform settle over an empty one; return where the old one is."""
    from mdactors.cli.own import ask  # noqa: PLC0415 - as above

    kept = _set_aside(context)

    async def settle(platform: Platform) -> None:
        ended = [job for job, row in platform.jobs.rows.items() if row.attempts and row.attempts[-1].ended is not None]
        await platform.settled(ended)

    ask(context, settle, mode="settle")
    return kept


def _set_aside(context: Context) -> Path | None:
    from datetime import UTC, datetime  # noqa: PLC0415 - as above

    from mdactors.runtime.journal.files import (  # noqa: PLC0415
        JOURNAL_NAME,
        files,
        finish,
    )
    from mdactors.runtime.statelock import hold  # noqa: PLC0415

    path = Path(context.state) / JOURNAL_NAME
    now = datetime.now(UTC)  # noqa: TID251 - a file's name, in a command that has no platform and so no clock
    kept = path.with_name(f"{path.name}.before-recovery-{now:%Y%m%dT%H%M%SZ}")
    with hold(Path(context.state), now.isoformat(timespec="seconds")):
        finish(path)
        there = [(old, new) for old, new in zip(files(path), files(kept), strict=True) if old.exists()]
        for old, new in reversed(there):  # what lies beside the log first: SQLite would throw away what is left alone
            old.rename(new)
    return kept if there else None
