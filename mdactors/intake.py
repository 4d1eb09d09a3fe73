"""Files that users write, made into `MDJobSpec`s: every complaint names field, value and remedy."""

from __future__ import annotations

import datetime as dt
import difflib
import json
import math
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
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

    Whatever the format, the entries are what JSON can hold: they may travel over HTTP, and must mean the same there.

    Raises:
        InputError: it is in none of the formats, holds no job, or a value has no form in JSON.
    """
    parse = READERS.get(path.suffix.lower(), _json_or_lines)
    try:
        entries = [_plain(entry, f"{path}, entry {n}", ()) for n, entry in enumerate(_entries(parse(text, path)), 1)]
    except RecursionError as error:
        raise InputError(f"{path} is nested too deeply to be a job file") from error
    except (
        ValueError
    ) as error:  # a key that stands twice, a day that is in no calendar, a number of thousands of digits
        raise InputError(f"{path}: {error}") from error
    if not entries:
        raise InputError(f"{path} holds no job")
    return entries


def _entries(document: Any) -> list[Any]:  # noqa: ANN401 - any decoded document
    if isinstance(document, dict) and set(document) == {"jobs"} and isinstance(document["jobs"], list):
        return list(document["jobs"])
    return document if isinstance(document, list) else [document]


def _plain(value: Any, place: str, within: tuple[int, ...]) -> Any:  # noqa: ANN401 - any decoded document
    """Return a value as JSON data: dates as text, keys as text. `within`: the identities of what holds it."""
    match value:
        case None | bool() | int():
            return value
        case str() if value.isascii() or _is_unicode(value):
            return value
        case float() if math.isfinite(value):
            return value
        case dt.date() | dt.time():
            return value.isoformat()
        case dict() | list() | tuple() if id(value) in within:
            raise InputError(f"{place}: it contains itself; write it out")
        case dict():
            inner = (*within, id(value))
            named = [(str(_plain(key, place, ())), each) for key, each in value.items()]
            return {name: _plain(each, f"{place}: {name}", inner) for name, each in named}
        case list() | tuple():
            return [_plain(each, place, (*within, id(value))) for each in value]
    raise InputError(f"{place}: {_short(value)} has no form in JSON; write text or a finite number")


def _is_unicode(text: str) -> bool:
    """JSON can name half a character (`\\ud800`), which nothing can store."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON.

    Raises:
        ValueError: a key stands twice in it.
    """
    _check_once([key for key, _ in pairs])
    return dict(pairs)


def _check_once(keys: Sequence[str]) -> None:
    """Of two values for one key, readers take the last; the user may have meant the other."""
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {json.dumps(twice)} stands twice in one object; leave one of them out")


def _json_or_lines(text: str, path: Path) -> Any:  # noqa: ANN401 - any JSON document
    try:
        return json.loads(text, object_pairs_hook=_once)
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
                entries.append(json.loads(line, object_pairs_hook=_once))
            except json.JSONDecodeError as error:
                raise InputError(f"{path}, line {number}: not JSON: {error.msg} at column {error.colno}") from error
            except ValueError as error:
                raise InputError(f"{path}, line {number}: {error}") from error
    return entries


def _yaml(text: str, path: Path) -> Any:  # noqa: ANN401 - any YAML document
    import yaml  # noqa: PLC0415 - most job files are JSON, and the import is slow

    class Loader(yaml.SafeLoader):
        def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:  # noqa: ANN401 - PyYAML's stubs are wrong here
            node = super().compose_mapping_node(anchor)
            _check_once([key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)])
            return node

    try:
        documents = [document for document in yaml.load_all(text, Loader) if document is not None]
    except yaml.YAMLError as error:
        raise InputError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    except (AttributeError, LookupError) as error:  # so PyYAML tells that a value does not fit its tag
        raise InputError(f"{path} is not YAML: a value does not fit its tag ({error})") from error
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
        raise _shape("", f"it is {_short(entry)}, and an entry is an object of fields", "write one object a job")
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
        raise _shape("", f"{json.dumps(error.object)} is no text in Unicode", "write it anew") from error
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
    return _shape(name, found, remedy)


def _unknown(what: str, value: Any, known: list[str]) -> ShapeError:  # noqa: ANN401 - whatever the file held
    near = difflib.get_close_matches(str(value), known, n=1)
    remedy = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
    if what == "kind":
        found = "missing" if value is None else f"{_short(value)} is not a kind of job"
        return _shape("kind", found, remedy)
    return _shape(str(value), "unknown field", remedy)


def _shape(field: str, found: str, remedy: str) -> ShapeError:
    subject = f"field {field!r}" if field else "the entry"
    return ShapeError(Refusal(subject=subject, clause="field", found=found, remedy=remedy))


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

    Names are relative to the topology's folder, as they are written: a link is followed for its content only, since the
    engine asks for the name. Files that are not there (force fields from the engine's own library) and names that lead
    out of that folder are left to the engine.
    """
    found: dict[str, Path] = {}
    waiting = [("", top)] if _is_file(top) else []
    while waiting and len(found) < limit:
        folder, current = waiting.pop()
        for written in _INCLUDE.findall(_text(current)):
            name = os.path.normpath(os.path.join(folder, written))
            path = top.parent / name
            if name not in found and not name.startswith(("../", "/")) and _is_file(path):
                found[name] = path
                waiting.append((os.path.dirname(name), path))
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
