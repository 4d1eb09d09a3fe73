"""A GROMACS topology, scanned as far as needed to say what OpenMM would read wrongly or not at all. Pure.

OpenMM's own reader skips sections that it doesn't know, in silence, and raises at the first thing that it can't read;
here everything is looked for at once, before a run. Its reader also predefines FLEXIBLE, which GROMACS does not.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator

import msgspec

Find = Callable[[str], str | None]
"""Name of an included file, relative to the topology's folder -> its text; None where it is not there."""

READ: frozenset[str] = frozenset(
    [
        "defaults",
        "atomtypes",
        "bondtypes",
        "angletypes",
        "dihedraltypes",
        "pairtypes",
        "cmaptypes",
        "nonbond_params",
        "moleculetype",
        "atoms",
        "bonds",
        "pairs",
        "angles",
        "dihedrals",
        "exclusions",
        "constraints",
        "settles",
        "cmap",
        "system",
        "molecules",
    ]
)
"""Sections that OpenMM's reader understands."""
FUNCTIONS: dict[str, tuple[int, frozenset[str]]] = {
    # section -> how many atoms (or types) stand before the function type, and the types that OpenMM's reader knows
    "bonds": (2, frozenset("12")),
    "bondtypes": (2, frozenset("12")),
    "pairs": (2, frozenset("1")),
    "pairtypes": (2, frozenset("1")),
    "nonbond_params": (2, frozenset("1")),
    "angles": (3, frozenset("125")),
    "angletypes": (3, frozenset("125")),
    "dihedrals": (4, frozenset("123459")),
    "settles": (1, frozenset("1")),
    "cmap": (5, frozenset("1")),
}

ELEMENT_MASSES: dict[int, float] = {
    # atomic number -> standard atomic weight, g/mol; what biomolecular force fields hold
    1: 1.008, 2: 4.0026, 3: 6.94, 4: 9.0122, 5: 10.81, 6: 12.011, 7: 14.007, 8: 15.999, 9: 18.998, 10: 20.180, 11: 22.990,
    12: 24.305, 13: 26.982, 14: 28.085, 15: 30.974, 16: 32.06, 17: 35.45, 18: 39.95, 19: 39.098, 20: 40.078, 25: 54.938,
    26: 55.845, 27: 58.933, 28: 58.693, 29: 63.546, 30: 65.38, 34: 78.971, 35: 79.904, 37: 85.468, 53: 126.90, 55: 132.91,
}  # fmt: skip


class AtomType(msgspec.Struct, frozen=True):
    """One row of [ atomtypes ]."""

    number: int | None
    """Atomic number; None where the column is left out."""
    mass: float
    charge: float
    misread: str = ""
    """The word that OpenMM's reader takes for the particle type; empty: it reads the row rightly."""


class Atom(msgspec.Struct, frozen=True):
    """One row of [ atoms ]."""

    type: str
    name: str
    residue: str
    charge: float | None
    """None, as for the mass: that of the type."""
    mass: float | None


class Molecule(msgspec.Struct):
    """One [ moleculetype ]."""

    name: str
    nrexcl: int
    atoms: list[Atom] = []
    pairs: list[tuple[int, int]] = []
    """[ pairs ]: numbers from 0, the smaller first."""
    bonded: bool = False


class Scanned(msgspec.Struct):
    """What a topology holds, the files that it includes taken in."""

    rule: str = ""
    """Combination rule: 1, 2 or 3."""
    types: dict[str, AtomType] = {}
    molecules: dict[str, Molecule] = {}
    counts: list[tuple[str, int]] = []
    """[ molecules ]: name and number, in order."""
    nbfix: set[tuple[str, str]] = set()
    """Pairs of [ nonbond_params ]."""
    problems: list[str] = []
    """What OpenMM can't read, or would read as something else; each once."""
    missing: list[str] = []
    """Included files that are not there."""

    def atoms(self) -> int:
        """Return the number of atoms."""
        return sum(count * len(self.molecules[name].atoms) for name, count in self.counts if name in self.molecules)

    def used(self) -> list[Molecule]:
        """Return the molecules that the system has."""
        return [self.molecules[name] for name, count in self.counts if count and name in self.molecules]

    def charged(self) -> str:
        """Return the first atom with a charge, in words (`OW of SOL1: -0.82`); empty: the system has no charges."""
        for molecule in self.used():
            for atom in molecule.atoms:
                kind = self.types.get(atom.type)
                charge = kind.charge if atom.charge is None and kind else atom.charge
                if charge:
                    return f"{atom.name} of {atom.residue}: {charge:g}"
        return ""

    def names(self) -> list[str]:
        """Return the name of every atom, in order, as the topology writes it."""
        return [
            atom.name
            for name, count in self.counts
            for _ in range(count)
            for atom in self.molecules[name].atoms
        ]  # fmt: skip

    def complain(self, problem: str) -> None:
        """Note a problem once."""
        if problem not in self.problems:
            self.problems.append(problem)


def scan(text: str, find: Find) -> Scanned:
    """Scan a topology with no macro defined (`define` of the mdp is refused). Never raises for bad input."""
    found, section, state = Scanned(), "", _Place()
    row: Row = _ignore
    place, known = 0, _ANY
    for line in _active_lines(text, find, found):
        if line[0] == "[":
            section = line.strip("[] \t").lower()
            row, (place, known) = (
                ROWS.get(section, _ignore if section in READ else _unread),
                FUNCTIONS.get(section, (0, _ANY)),
            )
            state.section = section
            continue
        words = line.split()
        try:
            if known is not _ANY and words[place] not in known:
                found.complain(
                    f"[ {section} ] function type {words[place]}: OpenMM's reader knows {', '.join(sorted(known))}"
                )
            row(found, state, words)
        except (ValueError, IndexError):
            found.complain(f"[ {section} ] {line!r} can't be read")
    _check_whole(found)
    return found


# ---------------------------------------------------------------- the preprocessor


class _Conditions:
    """The stack of #ifdef, #ifndef and #else."""

    def __init__(self) -> None:
        self.defines: dict[str, str] = {}
        self._stack: list[bool] = []

    @property
    def active(self) -> bool:
        return all(self._stack)

    def directive(self, words: list[str]) -> None:
        """Take one directive other than #include; what is malformed is left to the engine."""
        match words:
            case ["#ifdef", name, *_]:
                self._stack.append(name in self.defines)
            case ["#ifndef", name, *_]:
                self._stack.append(name not in self.defines)
            case ["#else", *_] if self._stack:
                self._stack[-1] = not self._stack[-1]
            case ["#endif", *_] if self._stack:
                self._stack.pop()
            case ["#define", name, *rest] if self.active:
                self.defines[name] = " ".join(rest)
            case ["#undef", name, *_] if self.active:
                self.defines.pop(name, None)
            case _:
                pass


def _active_lines(text: str, find: Find, found: Scanned) -> Iterator[str]:
    yield from _lines(text, "", _Conditions(), find, found, depth=0)


def _lines(text: str, folder: str, state: _Conditions, find: Find, found: Scanned, *, depth: int) -> Iterator[str]:
    for raw in text.replace("\\\n", " ").splitlines():
        line = raw.partition(";")[0].strip()
        if not line or line[0] == "*":
            continue
        if line[0] != "#":
            if state.active:
                yield _expanded(line, state.defines) if state.defines else line
        elif not line.startswith("#include"):
            state.directive(line.split())
        elif state.active:
            yield from _included(line[8:].strip(' \t"<>'), folder, state, find, found, depth=depth)


def _included(name: str, folder: str, state: _Conditions, find: Find, found: Scanned, *, depth: int) -> Iterator[str]:
    for path in (posixpath.normpath(posixpath.join(folder, name)), name):
        text = find(path)
        if text is not None and depth < 20:
            yield from _lines(text, posixpath.dirname(path), state, find, found, depth=depth + 1)
            return
    found.missing.append(name)


def _expanded(line: str, defines: dict[str, str]) -> str:
    return " ".join(defines.get(word, word) for word in line.split())


# ---------------------------------------------------------------- rows


class _Place:
    """Where in the file the scan is."""

    section = ""
    molecule: Molecule | None = None


def _defaults(found: Scanned, _: _Place, words: list[str]) -> None:
    found.rule = words[1]
    if words[0] != "1":
        found.complain("[ defaults ]: OpenMM knows non-bonded function 1 (Lennard-Jones) only")


def _type(found: Scanned, _: _Place, words: list[str]) -> None:
    number, mass, charge = _atom_type(words)
    misread = words[3] if len(words[3]) == 1 and not words[3].isalpha() else ""
    found.types[words[0]] = AtomType(number, mass, charge, misread)


def _molecule(found: Scanned, place: _Place, words: list[str]) -> None:
    place.molecule = found.molecules[words[0]] = Molecule(words[0], int(words[1]))


def _atom(found: Scanned, place: _Place, words: list[str]) -> None:
    if place.molecule is None:
        found.complain("[ atoms ] stands before [ moleculetype ]")
        return
    charge, mass = (float(words[column]) if len(words) > column else None for column in (6, 7))
    place.molecule.atoms.append(Atom(words[1], words[4], words[3] + words[2], charge, mass))


def _bond(_: Scanned, place: _Place, words: list[str]) -> None:
    if place.molecule is not None:
        place.molecule.bonded = True


def _constraint(found: Scanned, place: _Place, words: list[str]) -> None:
    _bond(found, place, words)
    if len(words) < 4:
        found.complain("[ constraints ] without a length: OpenMM's reader does not know [ constrainttypes ]")


def _count(found: Scanned, _: _Place, words: list[str]) -> None:
    found.counts.append((words[0], int(words[1])))


def _neighbours(_: Scanned, place: _Place, words: list[str]) -> None:
    if place.molecule is not None:
        a, b = int(words[0]) - 1, int(words[1]) - 1
        place.molecule.pairs.append((a, b) if a < b else (b, a))


def _nbfix(found: Scanned, _: _Place, words: list[str]) -> None:
    found.nbfix.add((words[0], words[1]))


def _ignore(_found: Scanned, _place: _Place, _words: list[str]) -> None:
    pass


def _unread(found: Scanned, place: _Place, _: list[str]) -> None:
    found.complain(f"[ {place.section} ] is active, and OpenMM's reader has no such section")


_ANY: frozenset[str] = frozenset()

Row = Callable[[Scanned, _Place, list[str]], None]

ROWS: dict[str, Row] = {
    "defaults": _defaults,
    "atomtypes": _type,
    "moleculetype": _molecule,
    "atoms": _atom,
    "bonds": _bond,
    "constraints": _constraint,
    "settles": _bond,
    "molecules": _count,
    "pairs": _neighbours,
    "nonbond_params": _nbfix,
    "constrainttypes": _ignore,
    "implicit_genborn_params": _ignore,
}
"""What a row of each section adds; rows of other sections that OpenMM reads are only checked for their function type."""


def _atom_type(words: list[str]) -> tuple[int | None, float, float]:
    """Columns 2 (bonded type) and 3 (at.num) may both be left out: the particle type, one letter, tells."""
    if len(words[3]) == 1 and words[3].isalpha():
        return None, float(words[1]), float(words[2])
    if len(words[4]) == 1 and words[4].isalpha():
        return None if words[1][0].isalpha() else int(words[1]), float(words[2]), float(words[3])
    return int(words[2]), float(words[3]), float(words[4])


# ---------------------------------------------------------------- checks over the whole


def _check_whole(found: Scanned) -> None:
    for name, _ in found.counts:
        if name not in found.molecules:
            found.complain(f"[ molecules ] names {name}, which is not defined")
    used = found.used()
    for molecule in used:
        _check_exclusions(found, molecule)
    kinds = {atom.type for molecule in used for atom in molecule.atoms}
    for unknown in sorted(kinds - set(found.types)):
        found.complain(f"atom type {unknown} is not defined")
    for name, kind in found.types.items():
        if kind.misread and name in kinds:
            found.complain(
                f"[ atomtypes ] {name}: OpenMM's reader takes {kind.misread} for the particle type; {kind.misread}.0 is read rightly"
            )
    if any(a in kinds and b in kinds for a, b in found.nbfix):
        found.complain(
            "[ nonbond_params ] is in use: OpenMM's reader then makes 1-4 pairs from dihedrals, not from [ pairs ]"
        )


def _check_exclusions(found: Scanned, molecule: Molecule) -> None:
    """OpenMM excludes by up to two bonds and scales the third, whatever nrexcl says."""
    if not molecule.bonded:
        return
    allowed = (2, 3) if len(molecule.atoms) <= 3 else (3,)
    if molecule.nrexcl not in allowed and len(molecule.atoms) > 2:
        found.complain(f"molecule {molecule.name} has nrexcl = {molecule.nrexcl}: OpenMM's reader excludes as for 3")


def element_notes(found: Scanned) -> tuple[str, ...]:
    """Say which atoms have an at.num that disagrees with their name or mass; it decides nothing here, but elsewhere it may."""
    counts = dict.fromkeys(found.molecules, 0)
    for name, count in found.counts:
        counts[name] = counts.get(name, 0) + count
    odd = [(molecule, atom) for molecule in found.molecules.values() for atom in molecule.atoms if _is_odd(found, atom)]
    total = sum(counts[molecule.name] for molecule, _ in odd)
    if not total:
        return ()
    atom = next(atom for molecule, atom in odd if counts[molecule.name])
    kind = found.types[atom.type]
    note = (
        f"{total} atoms have an at.num that fits neither their name nor their mass (first: {atom.name} of {atom.residue}, type {atom.type}: "
        f"at.num {kind.number}, mass {_mass(found, atom):g}): hydrogens are told by name, as GROMACS does, and masses are taken as written"
    )
    return (note,)


def _is_odd(found: Scanned, atom: Atom) -> bool:
    kind = found.types.get(atom.type)
    if kind is None or not kind.number:
        return False
    standard = ELEMENT_MASSES.get(kind.number)
    hydrogen = atom.name.startswith("H")
    return hydrogen != (kind.number == 1) or (standard is not None and not hydrogen and abs(kind.mass - standard) > 0.6)


def _mass(found: Scanned, atom: Atom) -> float:
    return found.types[atom.type].mass if atom.mass is None else atom.mass
