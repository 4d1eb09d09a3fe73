"""Reading GROMACS's text inputs (`.mdp`, `.gro`) as far as needed to say no before a run. Text in, values out."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

from mdactors.errors import InputError

COULOMB_WORDS = {
    "pme": "PME",
    "pme-switch": "PME",
    "p3m-ad": "P3M",
    "ewald": "Ewald",
    "cut-off": "cut-off",
    "cutoff": "cut-off",
    "reaction-field": "reaction field",
    "reaction-field-zero": "reaction field",
}
"""`coulombtype` -> word in a system class."""


def parse_mdp(text: str) -> dict[str, str]:
    """Read settings: names in lower case with `-` for `_`, values as written; a repeated name keeps its last value.

    Raises:
        InputError: a line is no `name = value`.
    """
    settings: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.partition(";")[0].strip()
        if not content:
            continue
        name, equals, value = content.partition("=")
        if not equals or not name.strip():
            raise InputError(f"line {number} is no 'name = value': {content[:60]!r}")
        settings[name.strip().lower().replace("_", "-")] = value.strip()
    return settings


def steps_of(settings: dict[str, str]) -> int:
    """Return `nsteps`, 0 where it is left out (as grompp takes it); -1 is without end.

    Raises:
        InputError: it is no whole number.
    """
    text = settings.get("nsteps", "") or "0"
    try:
        return int(text)
    except ValueError:
        raise InputError(f"nsteps = {text!r} is no whole number") from None


def parse_gro_atoms(text: str, lines: int) -> int:
    """Return the number of atoms from the start of a `.gro` file that has this many lines.

    Raises:
        InputError: its second line is no number, or lines are missing.
    """
    second = next(iter(text.splitlines()[1:2]), "").strip()
    if not second.isdecimal():
        raise InputError(f"line 2 should be the number of atoms, it is {second[:60]!r}")
    atoms = int(second)
    if atoms < 1:
        raise InputError("it holds no atoms")
    if lines < atoms + 3:
        raise InputError(f"it is cut off: {lines} lines, {atoms} atoms need {atoms + 3}")
    return atoms


def system_class(atoms: int, settings: dict[str, str]) -> str:
    """Return the class inside which speeds may be compared: `648 atoms, PME, h-bonds`."""
    coulomb = settings.get("coulombtype", "").lower() or "cut-off"
    constraints = settings.get("constraints", "").lower() or "none"
    return f"{atoms} atoms, {COULOMB_WORDS.get(coulomb, coulomb)}, {constraints}"


# ---------------------------------------------------------------- included files

_DIRECTIVE = re.compile(r'^\s*#\s*(if|endif|include(?=\s*["<]))(?:\s*["<]([^">]+))?', re.MULTILINE)


def missing_includes(top: str, read: Callable[[str], str | None]) -> list[str]:
    """Return the names, as written, of what a topology includes and grompp can't find, whatever is defined.

    Only what stands outside of all conditions counts (a missing `posre.itp` is nothing without POSRES), and only what no
    library of GROMACS's holds: bare names and folders `*.ff` may be there.

    Args:
        top: the topology's text.
        read: returns the text of a file beside it by its name, None where there is none.
    """
    missing: list[str] = []
    seen: set[str] = set()
    waiting = [("", top)]
    while waiting:
        folder, text = waiting.pop()
        for written in _unconditional(text):
            name = posixpath.normpath(posixpath.join(folder, written))
            if name in seen:
                continue
            seen.add(name)
            if (found := read(name)) is not None:
                waiting.append((posixpath.dirname(name), found))
            elif not _may_be_in_library(written):
                missing.append(written)
    return missing


def _unconditional(text: str) -> list[str]:
    found, depth = [], 0
    for directive, name in _DIRECTIVE.findall(text):
        depth += {"if": 1, "endif": -1}.get(directive, 0)
        if name and depth == 0:
            found.append(name)
    return found


def _may_be_in_library(written: str) -> bool:
    return "/" not in written or ".ff/" in written or written.startswith("/")
