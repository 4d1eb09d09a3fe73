"""Files that users write, made into `MDJobSpec`s: every complaint names field, value and remedy."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec

from events.outcome import Refusal
from events.spec import (
    INPUT_FIELDS,
    AmberJob,
    AnyJobSpec,
    Constraints,
    GromacsTopJob,
    MDJobSpec,
    OpenMMJob,
    Precision,
    PriorityClass,
    TprJob,
    kind_of,
)
from mdactors.errors import InputError

KINDS: dict[str, type[MDJobSpec]] = {
    "tpr": TprJob,
    "gromacs-top": GromacsTopJob,
    "openmm": OpenMMJob,
    "amber": AmberJob,
}

# ---------------------------------------------------------------- job files


def read_job_file(path: Path) -> list[Any]:
    """Return the entries of a job file as plain data: JSON (object or array), JSON lines, YAML or TOML.

    TOML holds one job, or several as `[[jobs]]`; the ending tells the format, and content where the ending doesn't.

    Raises:
        InputError: the file can't be read, or is none of these.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a text file (byte {error.start} is not UTF-8)") from error
    return parse_jobs(text, path)


def parse_jobs(text: str, path: Path) -> list[Any]:
    """Return the entries of a job file's text; `path` is its name, or what stands for one.

    Raises:
        InputError: it is in none of the formats, or holds no job.
    """
    parse = READERS.get(path.suffix.lower(), _json_or_lines)
    try:
        entries = _entries(parse(text, path))
    except RecursionError as error:
        raise InputError(f"{path} is nested too deeply to be a job file") from error
    if not entries:
        raise InputError(f"{path} holds no job")
    return entries


def _entries(document: Any) -> list[Any]:  # noqa: ANN401 - any decoded document
    if isinstance(document, dict) and set(document) == {"jobs"} and isinstance(document["jobs"], list):
        return list(document["jobs"])
    return document if isinstance(document, list) else [document]


def _json_or_lines(text: str, path: Path) -> Any:  # noqa: ANN401 - any JSON document
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) > 1 and error.msg == "Extra data":
            return _json_lines(text, path)
        raise InputError(f"{path}, line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from error


def _json_lines(text: str, path: Path) -> list[Any]:
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                entries.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise InputError(f"{path}, line {number}: not JSON: {error.msg} at column {error.colno}") from error
    return entries


def _yaml(text: str, path: Path) -> Any:  # noqa: ANN401 - any YAML document
    import yaml  # noqa: PLC0415 - most job files are JSON, and the import is slow

    try:
        documents = [document for document in yaml.safe_load_all(text) if document is not None]
    except yaml.YAMLError as error:
        raise InputError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    return documents[0] if len(documents) == 1 else documents


def _toml(text: str, path: Path) -> Any:  # noqa: ANN401 - any TOML document
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}") from error


READERS: Mapping[str, Callable[[str, Path], Any]] = {
    ".json": _json_or_lines,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".yaml": _yaml,
    ".yml": _yaml,
    ".toml": _toml,
}

CHOICES: dict[str, tuple[str, ...]] = {
    "precision": get_args(Precision),
    "priority_class": get_args(PriorityClass),
    "constraints": get_args(Constraints),
}
"""Fields that take one of a few words."""

# ---------------------------------------------------------------- one entry -> one spec


class ShapeError(InputError):
    """An entry of a job file is no job; `refusal` says which field, which value and what helps."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.text())
        self.refusal = refusal


def parse_spec(entry: Any) -> AnyJobSpec:  # noqa: ANN401 - whatever the file held
    """Return one entry of a job file as a spec.

    Raises:
        ShapeError: it is no object, has an unknown kind or field, lacks a field, or a value is out of range.
    """
    if not isinstance(entry, dict):
        raise _shape("entry", f"{_short(entry)} is not an object", "write one object of fields a job")
    fields = _deprecated({str(key): value for key, value in entry.items()})
    _check_text(fields)
    kind = KINDS.get(str(fields.get("kind")))
    if kind is None:
        raise _unknown("kind", fields.get("kind"), list(KINDS))
    known = kind.__struct_encode_fields__
    for name in fields:
        if name not in known and name != "kind":
            raise _unknown("field", name, list(known))
    try:
        return msgspec.convert(fields, kind)  # type: ignore[return-value]  # KINDS holds the members of the union
    except msgspec.ValidationError as error:
        raise _invalid(fields, str(error)) from error


def _check_text(fields: dict[str, Any]) -> None:
    """JSON can name half a character (`\\ud800`), which nothing can store; what has no JSON form fails by its type later."""
    try:
        msgspec.json.encode(fields)
    except UnicodeEncodeError as error:
        raise _shape("entry", f"{json.dumps(error.object)} is no text in Unicode", "write it anew") from error
    except (TypeError, ValueError, RecursionError):
        return


def _deprecated(fields: dict[str, Any]) -> dict[str, Any]:
    """`backend_pref: interactive` asks for a scheduling class, not for an engine; older job files have it."""
    if fields.get("backend_pref") == "interactive":
        return {**fields, "backend_pref": None, "priority_class": "interactive"}
    return fields


def _invalid(fields: dict[str, Any], message: str) -> ShapeError:
    missing = re.search(r"missing required field `(\w+)`", message)
    if missing:
        return _shape(missing[1], f"missing in a job of kind {fields['kind']!r}", "name the file")
    expected, _, place = message.partition(" - at `$")
    path = [part for part in re.split(r"[.\[\]]", place.strip("`").removeprefix(".")) if part]
    value: Any = fields
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    nested = re.search(r"unknown field `(\w+)`", expected)
    name = ".".join([*path, *([nested[1]] if nested else [])])
    found = "unknown field" if nested else f"{_short(value)} is not allowed: {expected[0].lower()}{expected[1:]}"
    choices = CHOICES.get(path[-1] if path else "", ())
    remedy = f"one of: {', '.join(choices)}" if choices else "correct the value, or leave the field out"
    return _shape(name or "entry", found, remedy)


def _unknown(what: str, value: Any, known: list[str]) -> ShapeError:  # noqa: ANN401 - whatever the file held
    near = difflib.get_close_matches(str(value), known, n=1)
    remedy = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
    if what == "kind":
        found = "missing" if value is None else f"{_short(value)} is not a kind of job"
        return _shape("kind", found, remedy)
    return _shape(str(value), "unknown field", remedy)


def _shape(field: str, found: str, remedy: str) -> ShapeError:
    return ShapeError(Refusal(subject=f"field {field!r}", clause="field", found=found, remedy=remedy))


def _short(value: Any) -> str:  # noqa: ANN401 - whatever the file held
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


# ---------------------------------------------------------------- the files that a spec names


def named_files(spec: AnyJobSpec) -> tuple[tuple[str, str], ...]:
    """Return (role, name as it was written) of each input file that the spec names."""
    named = ((role, getattr(spec, role)) for role in INPUT_FIELDS[kind_of(spec)])
    return tuple((role, name) for role, name in named if name is not None)


def input_paths(spec: AnyJobSpec, base: Path) -> dict[str, Path]:
    """Return role -> absolute path of each input file that the spec names; relative ones refer to `base`."""
    return {role: base / _expanded(name) for role, name in named_files(spec)}


def _expanded(name: str) -> Path:
    try:
        return Path(name).expanduser()
    except RuntimeError:  # `~nobody/...`: as good as any other name of no file
        return Path(name)


_INCLUDE = re.compile(r'^\s*#include\s+["<]([^">]+)[">]', re.MULTILINE)


def included_files(top: Path, limit: int = 200) -> dict[str, Path]:
    """Return name -> path of the files that a topology includes and that lie beside it, recursively.

    Names are relative to the topology's folder. Files that are not there (force fields from the engine's own library)
    and files outside that folder are left to the engine.
    """
    if not _is_file(top):
        return {}
    root = top.parent.resolve()
    found: dict[str, Path] = {}
    waiting = [top]
    while waiting and len(found) < limit:
        current = waiting.pop()
        for name in _INCLUDE.findall(_text(current)):
            path = current.parent / name
            if not _is_file(path):
                continue
            path = path.resolve()
            if path.is_relative_to(root) and str(path.relative_to(root)) not in found:
                found[str(path.relative_to(root))] = path
                waiting.append(path)
    return found


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # longer than any name
        return False


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
