"""The edge: entries of a job file become `JobSubmitted`, or refusals, one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

import msgspec

from events.jobs import JobSubmitted
from events.outcome import Examination, Refusal
from events.spec import AnyJobSpec, InputFile, kind_of
from mdactors.errors import InputError
from mdactors.intake import ShapeError, included_files, input_paths, parse_spec
from mdactors.ports import Engine
from mdactors.runtime.inputs import InputStore


class Admitted(msgspec.Struct, frozen=True, kw_only=True):
    """One entry: ready to be submitted, or refused."""

    name: str
    submitted: JobSubmitted | None = None
    refusals: tuple[Refusal, ...] = ()


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
        return [self._one(entry, base, owner, number) for entry in entries]

    def _one(self, entry: Any, base: Path, owner: str, number: Callable[[], int]) -> Admitted:  # noqa: ANN401 - plain data
        try:
            spec = parse_spec(entry)
        except ShapeError as error:
            return Admitted(name=_name_of(entry), refusals=(error.refusal,))
        paths = input_paths(spec, base)
        spec = _named(spec, owner, paths)
        kept: dict[str, Path] = {}
        inputs: list[InputFile] = []
        problems: list[Refusal] = []
        for role, name, path in _files(spec, paths):
            try:
                sha256, size, copy = self._store.keep(path)
            except InputError as error:
                problems.append(_unusable(role, path, str(error)))
                continue
            kept[f"include:{name}" if role == "include" else role] = copy
            inputs.append(InputFile(role, name, str(path), sha256, size))
        if problems:
            return Admitted(name=spec.name, refusals=tuple(problems))
        examinations = self._examine(spec, inputs, kept)
        job = JobSubmitted(job=number(), spec=spec, inputs=tuple(inputs), examinations=examinations)
        return Admitted(name=spec.name, submitted=job)

    def _examine(
        self, spec: AnyJobSpec, inputs: Sequence[InputFile], kept: Mapping[str, Path]
    ) -> tuple[Examination, ...]:
        same = msgspec.structs.replace(spec, name="", owner="", project="", labels={}, priority=0.0)
        key = msgspec.json.encode((same, [(item.role, item.name, item.sha256) for item in inputs]))
        if key not in self._examined:
            self._examined[key] = tuple(engine.examine(spec, kept) for engine in self._engines)
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


def _unusable(role: str, path: Path, why: str) -> Refusal:
    found = why.partition(": ")[2] or why
    return Refusal(subject=f"field {role!r}", clause="input", found=f"{path}: {found}", remedy="check the path")


def _named(spec: AnyJobSpec, owner: str, paths: Mapping[str, Path]) -> AnyJobSpec:
    first = next(iter(paths.values()))
    stem = f"{first.parent.name}/{first.stem}" if first.parent.name else first.stem
    return msgspec.structs.replace(spec, name=spec.name or stem, owner=spec.owner or owner)


def _name_of(entry: Any) -> str:  # noqa: ANN401 - whatever the file held
    if not isinstance(entry, dict):
        return ""
    named = entry.get("name") or next((entry[key] for key in ("tpr", "top", "system", "prmtop") if entry.get(key)), "")
    return PurePath(named).name if isinstance(named, str) else ""
