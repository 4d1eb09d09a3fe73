"""Hand the jobs of one file or more over to the platform, or run them right here where none is running.

A job file is JSON (one object or an array), JSON lines, YAML or TOML; relative paths refer to its folder. `-` is
JSON on standard input, with paths relative to the working directory. Exit code 0:
every job was accepted (and, where it was waited for, completed); 1: not all; 2: a file can't be read.
"""

from __future__ import annotations

import time

from mdactors.cli import jobtable, verdicts
from mdactors.cli.batch import Batch, read
from mdactors.cli.follow import Pending, rows_of
from mdactors.cli.whoami import login_name
from mdactors.errors import NoPlatformError, StateBusyError

TYPE_CHECKING = False  # known to type checkers; the typing module would cost a tenth of a whole verb
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from mdactors.cli.context import Context

PATIENCE_SECONDS = 10.0
"""For a platform that holds the state folder and does not answer: it starts, stops, or was made for one question."""
PACE_SECONDS = 0.05

PART = 1000
"""Entries of one request; see `mdactors.wire.JOBS_MAX`."""


def configure(parser: ArgumentParser) -> None:
    """Add this verb's options."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="job file (.json, .jsonl, .yaml, .toml), or - for standard input"
    )
    parser.add_argument("--wait", action="store_true", help="wait until the jobs have ended")
    parser.add_argument("--dry-run", action="store_true", help="show the choice and every refusal, start nothing")
    parser.add_argument(
        "--slots", type=int, metavar="N", help="where none is running: jobs that run on the CPU at once"
    )


def run(context: Context) -> int:
    """Submit, by a running platform or by one of our own."""
    batches = read(context.options.files)
    deadline = time.monotonic() + PATIENCE_SECONDS  # noqa: TID251 - no platform, no Clock
    while True:
        since = _last_seq(context)
        if since is not None:
            return _hand_over(context, batches, since)
        try:
            return _run_here(context, batches)
        except StateBusyError:
            if time.monotonic() > deadline:  # noqa: TID251 - no platform, no Clock
                raise
        time.sleep(PACE_SECONDS)  # noqa: TID251 - no loop runs here


def _run_here(context: Context, batches: list[Batch]) -> int:
    from mdactors.cli.foreground import run_here  # noqa: PLC0415 - the whole platform, only where it is needed

    return run_here(context, batches)


def _last_seq(context: Context) -> int | None:
    """Return the running platform's newest record; None where none is running."""
    try:
        return int(context.client.get("/health")["last_seq"])
    except NoPlatformError:
        return None


def _hand_over(context: Context, batches: list[Batch], since: int) -> int:
    answers = [answer for batch in batches for answer in _post(context, batch)]
    numbers = [answer["job"] for answer in answers if answer["job"] is not None]
    result: dict[str, Any] = {"submissions": answers}
    if not context.json:
        verdicts.show(context.out, answers)
    try:
        if context.options.wait and not context.options.dry_run:
            result["jobs"] = _outcomes(context, numbers, since)
    finally:  # the numbers are known, even where waiting for them came to nothing
        if context.json:
            context.out.document(result)
    return 0 if verdicts.accepted(answers) and _completed(result.get("jobs", [])) else 1


def _post(context: Context, batch: Batch) -> list[dict[str, Any]]:
    answers: list[dict[str, Any]] = []
    for start in range(0, len(batch.entries), PART):
        part = batch.entries[start : start + PART]
        body = {"jobs": part, "base": str(batch.base), "owner": login_name(), "dry_run": context.options.dry_run}
        found = context.client.post("/v1/jobs", body)["submissions"]
        answers += [{"file": batch.file} | answer | {"index": answer["index"] + start} for answer in found]
    return answers


def _outcomes(context: Context, numbers: list[int], since: int) -> list[dict[str, Any]]:
    try:
        Pending(context.client, numbers).wait(since)
    except KeyboardInterrupt:
        context.out.note("\nno longer waiting; the jobs go on: `status` shows them, `cancel` ends them")
        raise
    rows = rows_of(context.client, numbers)
    if rows and not context.json:
        context.out.line()
        jobtable.table(context.out, rows)
    return rows


def _completed(rows: list[dict[str, Any]]) -> bool:
    return all(row["state"] == "completed" for row in rows)
