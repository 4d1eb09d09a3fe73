"""The generated parts of `docs/`: made from the code, checked by a test, rewritten by `make docs`."""

from __future__ import annotations

import sys

from events.base import Event
from mdactors.core.lifecycle import TERMINAL, TRANSITIONS
from tests.architecture.flow import PARTS, heard, said
from tests.architecture.sources import ROOT

PAGE = ROOT / "docs" / "architecture.md"


def flow() -> str:
    """Return the table of who hears and says what."""
    rows = [f"| {part} | {', '.join(heard(part)) or '—'} | {', '.join(said(part)) or '—'} |" for part in PARTS]
    return "\n".join(["| part | hears | says |", "| --- | --- | --- |", *rows])


def picture() -> str:
    """Return the picture of the actors, an arrow for each event from who says it to who acts on it.

    Recovery is left out: it tells the facts of all others once more, before anybody listens.
    """
    lines = ["```mermaid", "flowchart LR"]
    names = {part: f"P{index}" for index, part in enumerate(PARTS)}
    drawn = [part for part in PARTS if part != "recovery"]
    lines += [f'    {names[part]}["{part}"]' for part in drawn]
    for speaker in drawn:
        for listener in drawn:
            shared = [event for event in said(speaker) if event in heard(listener) and speaker != listener]
            if shared:
                lines.append(f"    {names[speaker]} -- {'<br/>'.join(shared)} --> {names[listener]}")
    return "\n".join([*lines, "```"])


def states() -> str:
    """Return the table of a job's states."""
    rows = [f"| {state} | {_name(fact)} | {after} |" for (state, fact), after in TRANSITIONS.items()]
    ends = ", ".join(sorted(TERMINAL))
    return "\n".join(["| state | fact | next state |", "| --- | --- | --- |", *rows, "", f"Final states: {ends}."])


def _name(fact: type[Event]) -> str:
    return str(fact.__struct_config__.tag)


BLOCKS = {"picture": picture, "flow": flow, "states": states}


def filled(text: str) -> str:
    """Return a page with each generated block as the code would have it."""
    for name, make in BLOCKS.items():
        before, start, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"<!-- end of {name} -->")
        text = f"{before}{start}{make()}\n{end}{after}"
    return text


if __name__ == "__main__" and "--write" in sys.argv:
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
