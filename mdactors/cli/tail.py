"""The event log as lines of JSON, a record a line (seq, time, cause, type, then the fields), good for jq and grep."""

from __future__ import annotations

import argparse
import json

from mdactors.errors import NoPlatformError

TYPE_CHECKING = False  # known to type checkers; the typing module would cost a tenth of a whole verb
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator
    from typing import Any

    from mdactors.cli.context import Context

GAP = b'{"type":"Gap"'


def configure(parser: ArgumentParser) -> None:
    """Add this verb's options."""
    parser.add_argument("-f", "--follow", action="store_true", help="go on with new records as they happen")
    parser.add_argument("--since", type=sequence, default=0, metavar="SEQ", help="only records after this one")
    parser.add_argument("--type", default="*", metavar="GLOB", help="only these types of fact ('Job*')")
    parser.add_argument("--job", type=int, metavar="N", help="only facts about this job")
    parser.add_argument("--progress", action="store_true", help="with -f: ephemeral facts too (seq 0)")


def sequence(text: str) -> int:
    """Return a sequence number."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no sequence number: 0, 1, 2 ...")
    return int(text)


def run(context: Context) -> int:
    """Print it."""
    try:
        for line in following(context):
            context.out.raw(line + b"\n")
    except NoPlatformError:
        for text in _from_file(context):
            context.out.line(text)
        if context.options.follow:
            context.out.note(f"no platform is running on {context.state}: nothing more will happen")
            return 1
    return 0


def following(context: Context) -> Iterator[bytes]:
    """Yield the lines that a running platform sends; what was lost by reading too slowly is asked for again."""
    options, last = context.options, context.options.since
    query: dict[str, Any] = {"type_": options.type, "job": options.job, "progress": options.progress}
    reader = context.out.descriptor
    for line in context.client.records(reader=reader, since=last, follow=options.follow, **query):
        if not line.startswith(GAP):
            yield line
            continue
        gap = json.loads(line)
        for lost in context.client.records(since=gap["first"] - 1, **query) if gap["first"] else ():
            if json.loads(lost)["seq"] > gap["last"]:
                break
            yield lost


def _from_file(context: Context) -> Iterator[str]:
    from fnmatch import fnmatchcase  # noqa: PLC0415 - reading the log costs more than asking

    from events.codec import join_line  # noqa: PLC0415
    from mdactors.cli.stopped import rows  # noqa: PLC0415

    options = context.options
    for seq, time, cause, kind, _, body, _ in rows(context.state, options.since):
        if fnmatchcase(kind, options.type) and (options.job is None or _is_about(body, options.job)):
            yield join_line(seq, time, cause, body)


def _is_about(body: str, job: int) -> bool:
    fields = json.loads(body)
    return job in (fields.get("job"), fields.get("a"), fields.get("b"))
