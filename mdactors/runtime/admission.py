"""The edge: entries of a job file become `JobSubmitted`, or refusals, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

import msgspec

from events.jobs import JobSubmitted
from events.outcome import Examination, Refusal
from events.spec import AnyJobSpec, InputFile, kind_of
from mdactors.errors import InputError
from mdactors.intake import ShapeError, included_files, input_paths, named_files, parse_spec
from mdactors.ports import Engine
from mdactors.runtime.inputs import InputStore


class Admitted(msgspec.Struct, frozen=True, kw_only=True):
    """One entry: ready to be submitted, or refused."""

    name: str
    submitted: JobSubmitted | None = None
    refusals: tuple[Refusal, ...] = ()


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The files of an entry; entries of one batch that name the same files share it, so that each is looked at once."""

    stem: str
    """What an entry without a name is called."""
    copies: dict[str, Path]
    """Role, or `include:NAME` -> kept copy."""
    inputs: tuple[InputFile, ...]
    problems: tuple[Refusal, ...]


class Admission:
    """Checks shapes, keeps inputs, and lets every engine read them.

    Everything here reads files and may block: call it in a thread. Examinations are remembered by content.
    """

    def __init__(self, engines: Sequence[Engine], store: InputStore) -> None:
        self._engines = engines
        self._store = store
        self._examined: dict[bytes, tuple[Examination, ...]] = {}

    def admit(self, entries: Sequence[Any], base: Path, owner: str, number: Callable[[], int]) -> list[Admitted]:
        """Return what becomes of each entry; `number` gives each admitted job the next number."""
        known: dict[tuple[tuple[str, str], ...], Kept] = {}
        return [self._one(entry, base, owner, number, known) for entry in entries]

    def _one(
        self,
        entry: Any,  # noqa: ANN401 - plain data
        base: Path,
        owner: str,
        number: Callable[[], int],
        known: dict[tuple[tuple[str, str], ...], Kept],
    ) -> Admitted:
        try:
            spec = parse_spec(entry)
        except ShapeError as error:
            return Admitted(name=_name_of(entry), refusals=(error.refusal,))
        named = named_files(spec)
        if named not in known:
            known[named] = self._keep(spec, base)
        kept = known[named]
        spec = msgspec.structs.replace(spec, name=spec.name or kept.stem, owner=spec.owner or owner)
        if kept.problems:
            return Admitted(name=spec.name, refusals=kept.problems)
        job = JobSubmitted(job=number(), spec=spec, inputs=kept.inputs, examinations=self._examine(spec, kept))
        return Admitted(name=spec.name, submitted=job)

    def _keep(self, spec: AnyJobSpec, base: Path) -> Kept:
        paths = input_paths(spec, base)
        copies: dict[str, Path] = {}
        inputs: list[InputFile] = []
        files = _files(spec, paths)
        problems = self._problems(files)
        for role, name, path in () if problems else files:
            try:
                sha256, size, copy = self._store.keep(path)
            except InputError as error:
                problems.append(_unusable(role, error))
                break
            copies[f"include:{name}" if role == "include" else role] = copy
            inputs.append(InputFile(role, name, str(path), sha256, size))
        return Kept(stem=_stem(paths), copies=copies, inputs=tuple(inputs), problems=tuple(problems))

    def _problems(self, files: Iterable[tuple[str, str, Path]]) -> list[Refusal]:
        """Look at all files before the first one is kept: a refused entry leaves nothing behind."""
        problems: list[Refusal] = []
        for role, _, path in files:
            try:
                self._store.check(path)
            except InputError as error:
                problems.append(_unusable(role, error))
        return problems

    def _examine(self, spec: AnyJobSpec, kept: Kept) -> tuple[Examination, ...]:
        same = msgspec.structs.replace(spec, name="", owner="", project="", labels={}, priority=0.0)
        key = msgspec.json.encode((same, [(item.role, item.name, item.sha256) for item in kept.inputs]))
        if key not in self._examined:
            self._examined[key] = tuple(engine.examine(spec, kept.copies) for engine in self._engines)
        return self._examined[key]


def _files(spec: AnyJobSpec, paths: Mapping[str, Path]) -> list[tuple[str, str, Path]]:
    """Return (role, name under `inputs/`, path) of every file, those that a topology includes among them."""
    files = [(role, _unique(role, path, paths), path) for role, path in paths.items()]
    if kind_of(spec) == "gromacs-top":
        taken = {name for _, name, _ in files}
        files += [("include", name, path) for name, path in included_files(paths["top"]).items() if name not in taken]
    return files


def _unique(role: str, path: Path, paths: Mapping[str, Path]) -> str:
    """Two inputs of one name (from two folders) must not meet in one: the role tells them apart."""
    same = [other for other in paths.values() if other.name == path.name]
    return path.name if len(same) == 1 else f"{role}-{path.name}"


def _unusable(role: str, why: InputError) -> Refusal:
    return Refusal(subject=f"field {role!r}", clause="input", found=str(why), remedy="check the path")


def _stem(paths: Mapping[str, Path]) -> str:
    first = next(iter(paths.values()))
    return _printable(f"{first.parent.name}/{first.stem}" if first.parent.name else first.stem)


def _name_of(entry: Any) -> str:  # noqa: ANN401 - whatever the file held
    if not isinstance(entry, dict):
        return ""
    named = entry.get("name") or next((entry[key] for key in ("tpr", "top", "system", "prmtop") if entry.get(key)), "")
    return _printable(PurePath(named).name) if isinstance(named, str) else ""


def _printable(name: str) -> str:
    """What is refused for its name has to be named all the same."""
    return name.encode(errors="replace").decode()
