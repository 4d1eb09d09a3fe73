"""What became of the entries of a job file, for people."""

from __future__ import annotations

from mdactors.cli.text import amount

TYPE_CHECKING = False  # known to type checkers; the typing module would cost a tenth of a whole verb
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from mdactors.cli.output import Output

REFUSED = ("rejected", "refused")

SHOWN_MAX = 40
"""Accepted jobs that are listed one by one; of more, the numbers are enough."""

Answer = dict[str, "Any"]


def accepted(answers: Sequence[Answer]) -> bool:
    """Tell whether nothing was refused."""
    return not any(answer["state"] in REFUSED for answer in answers)


def show(out: Output, answers: Sequence[Answer]) -> None:
    """Write the accepted ones as a table, and every reason for the refused ones."""
    good = [answer for answer in answers if answer["state"] not in REFUSED]
    out.table(("job", "name", "state", "choice", "why"), [_cells(answer) for answer in good[:SHOWN_MAX]], right="job")
    if len(good) > SHOWN_MAX:
        out.line(f"... and {amount(len(good) - SHOWN_MAX, 'job')} more, up to job {good[-1]['job']}")
    for answer in answers:
        if answer["state"] in REFUSED:
            _refusal(out, answer)
    refused = len(answers) - len(good)
    if refused:
        out.line(f"{amount(len(good), 'job')} accepted, {refused} refused")


def _cells(answer: Answer) -> tuple[str, ...]:
    number = "" if answer["job"] is None else str(answer["job"])
    choice, why = _choice(answer)
    return number, answer["name"], answer["state"], choice, why


def _choice(answer: Answer) -> tuple[str, str]:
    if not answer["candidates"]:
        return "", ""
    best = answer["candidates"][0]
    return best["capability"], best["why"]


def _refusal(out: Output, answer: Answer) -> None:
    number = "" if answer["job"] is None else f" (job {answer['job']})"
    word = out.paint(answer["state"], "red")
    name = f"{answer['name']}{number}, " if answer["name"] else ""
    out.line(f"{word}: {name}entry {answer['index'] + 1} of {answer['file']}")
    for refusal in answer["refusals"]:
        out.line(f"  - {refusal['text']}")
