"""What there is to run on, and what is missing and why."""

from __future__ import annotations

from mdactors.cli.text import moment
from mdactors.cli.whoami import login_name
from mdactors.errors import NoPlatformError

TYPE_CHECKING = False  # known to type checkers; the typing module would cost a tenth of a whole verb
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from mdactors.cli.context import Context
    from mdactors.runtime.platform import Platform

FIELDS = ("engine", "version", "backend", "precision", "device", "device_name", "health", "why")
"""Columns of the table."""


def configure(parser: ArgumentParser) -> None:
    """Add this verb's options."""
    parser.add_argument("--refresh", action="store_true", help="look at devices and engines again first")


def run(context: Context) -> int:
    """Show the matrix."""
    shown = _matrix(context)
    if context.json:
        context.out.document(shown)
    else:
        _show(context, shown)
    return 0


def _matrix(context: Context) -> Any:  # noqa: ANN401 - a JSON document
    return _asked(context) or (None if context.options.refresh else _remembered(context)) or _probed(context)


def _asked(context: Context) -> Any:  # noqa: ANN401 - a JSON document
    try:
        if context.options.refresh:
            return context.client.post("/v1/capabilities/refresh", {"by": login_name()})
        return context.client.get("/v1/capabilities")
    except NoPlatformError:
        return None


def _remembered(context: Context) -> Any:  # noqa: ANN401 - a JSON document
    from mdactors.cli.stopped import Stopped  # noqa: PLC0415 - reading the log costs more than asking

    try:
        files = Stopped(context.state)
    except NoPlatformError:
        return None
    return files.capabilities() if files.matrix.known else None


def _probed(context: Context) -> Any:  # noqa: ANN401 - a JSON document
    import msgspec  # noqa: PLC0415 - only where a platform of our own is needed

    from mdactors.cli.own import ask  # noqa: PLC0415
    from mdactors.views.platform import matrix_view  # noqa: PLC0415

    async def look(platform: Platform) -> Any:  # noqa: ANN401 - a JSON document
        if context.options.refresh:
            await platform.refresh(by=login_name())
        await platform.probed()
        return msgspec.to_builtins(matrix_view(platform.matrix))

    return ask(context, look, mode="look")


def _show(context: Context, shown: dict[str, Any]) -> None:
    out = context.out
    for node in shown["nodes"]:
        out.line(f"node {node['node']}, looked at {moment(node['probed_at'])} ({node['probe_seconds']:.2g} s)")
    rows = [tuple(row[field] for field in FIELDS) for row in shown["capabilities"]]
    out.table([field.replace("device_name", "name") for field in FIELDS], rows)
    if shown["absences"]:
        out.line("\nnot usable here:")
    for row in shown["absences"]:
        out.line(f"  {row['engine']}, {row['what']}: {row['why']}")
        if row.get("remedy"):
            out.line(f"    {out.paint(row['remedy'], 'dim')}")
