"""Compare the energies of two completed jobs, term by term."""

from __future__ import annotations

from mdactors.cli.whoami import login_name
from mdactors.errors import EnergiesMissingError, NoPlatformError

TYPE_CHECKING = False  # known to type checkers; the typing module would cost a tenth of a whole verb
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from mdactors.cli.context import Context
    from mdactors.runtime.platform import Platform

HEADS = ("term", "a", "b", "difference", "allowed", "relative", "verdict")


def configure(parser: ArgumentParser) -> None:
    """Add this verb's options."""
    parser.add_argument("a", type=int, metavar="A", help="a completed job")
    parser.add_argument("b", type=int, metavar="B", help="another one of the same system")


def run(context: Context) -> int:
    """Print the terms; exit code 1 where the verdict is `fail`."""
    shown = _asked(context) or _by_ourselves(context)
    if context.json:
        context.out.document(shown)
    else:
        _show(context, shown)
    return 1 if shown["verdict"] == "fail" else 0


def _asked(context: Context) -> Any:  # noqa: ANN401 - a JSON document
    body = {"a": context.options.a, "b": context.options.b, "by": login_name()}
    try:
        return context.client.post("/v1/reconcile", body)
    except NoPlatformError:
        return None


def _by_ourselves(context: Context) -> Any:  # noqa: ANN401 - a JSON document
    import msgspec  # noqa: PLC0415 - only where a platform of our own is needed

    from events.results import PairReconciled  # noqa: PLC0415
    from mdactors.cli.own import ask  # noqa: PLC0415
    from mdactors.cli.stopped import Stopped  # noqa: PLC0415

    a, b = context.options.a, context.options.b
    files = Stopped(context.state)
    for number in (a, b):
        files.row(number)

    async def compare(platform: Platform) -> Any:  # noqa: ANN401 - a JSON document
        outcome = await platform.reconcile(a, b, by=login_name())
        if isinstance(outcome, PairReconciled):
            return msgspec.to_builtins(outcome)
        raise EnergiesMissingError(outcome.why)

    return ask(context, compare)


def _show(context: Context, shown: dict[str, Any]) -> None:
    out = context.out
    out.line(f"jobs {shown['a']} and {shown['b']} ({shown['pair']}), kJ/mol:")
    rows = [_cells(term) for term in shown["terms"]]
    out.table(HEADS, rows, right="a b difference allowed relative")
    for note in shown.get("notes", ()):
        out.line(f"note: {note}")
    verdict = shown["verdict"]
    out.line(f"verdict: {out.paint(verdict, {'pass': 'green', 'warn': 'yellow'}.get(verdict, 'red'))}")


def _cells(term: dict[str, Any]) -> tuple[str, ...]:
    return (
        term["term"],
        f"{term['a']:.6g}",
        f"{term['b']:.6g}",
        f"{term['difference']:.4g}",
        f"{term['tolerance']:.4g}" if term["verdict"] != "info" else "",
        f"{term['relative']:.2e}",
        term["verdict"],
    )
