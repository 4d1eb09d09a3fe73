"""Job files of every format, and complaints that say where, what and what helps."""

from __future__ import annotations

import datetime as dt
import json
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from events.outcome import Refusal
from events.spec import INPUT_FIELDS, AmberJob, AnyJobSpec, GromacsTopJob, OpenMMJob, Settings, TprJob
from mdactors.errors import InputError
from mdactors.intake import KINDS, ShapeError, included_files, input_paths, named_files, parse_spec, read_job_file
from tests.architecture.sources import ROOT
from tests.events.strategies import any_of

EXAMPLES = ROOT / "examples"

A = {"kind": "tpr", "tpr": "a.tpr", "nsteps": 5000}
B = {"kind": "tpr", "tpr": "b.tpr", "precision": "double"}


WITHOUT_JSON_FORM = [
    ("jobs.json", '[{}, {"priority": NaN}]', r"jobs\.json, entry 2: priority: NaN has no form in JSON; write text or"),
    ("jobs.json", '{"priority": 1e999}', r"jobs\.json, entry 1: priority: Infinity has no form in JSON"),
    ("jobs.json", '{"name": "\\ud800"}', r"jobs\.json, entry 1: name: .* has no form in JSON"),
    ("jobs.yaml", "settings: {seed: .nan}", r"jobs\.yaml, entry 1: settings: seed: NaN has no form in JSON"),
    ("jobs.yaml", "- {}\n- {labels: !!set {a, b}}", r"jobs\.yaml, entry 2: labels: .* has no form in JSON"),
    ("jobs.yaml", "tpr: !!binary aGVsbG8=", r"jobs\.yaml, entry 1: tpr: .*hello.* has no form in JSON"),
    ("jobs.yaml", "labels: &a {b: *a}", r"jobs\.yaml, entry 1: labels: b: it contains itself; write it out"),
    ("jobs.yaml", "- &a [*a]", r"jobs\.yaml, entry 1: it contains itself"),
]
"""YAML and Python's JSON know values that could not be handed over to a platform."""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


# ---------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("jobs.json", json.dumps([A, B])),
        ("jobs.json", json.dumps({"jobs": [A, B]}, indent=2)),
        ("jobs.json", f"{json.dumps(A)}\n{json.dumps(B)}\n"),
        ("jobs.jsonl", f"{json.dumps(A)}\n\n{json.dumps(B)}\n"),
        ("jobs.ndjson", f"{json.dumps(A)}\r\n{json.dumps(B)}"),
        ("jobs", json.dumps([A, B])),
        ("jobs.json", "\ufeff" + json.dumps([A, B])),
        ("JOBS.YAML", "- {kind: tpr, tpr: a.tpr, nsteps: 5000}\n- kind: tpr\n  tpr: b.tpr\n  precision: double\n"),
        ("jobs.yml", "kind: tpr\ntpr: a.tpr\nnsteps: 5000\n---\nkind: tpr\ntpr: b.tpr\nprecision: double\n"),
        ("jobs.yaml", "jobs:\n- {kind: tpr, tpr: a.tpr, nsteps: 5000}\n- {kind: tpr, tpr: b.tpr, precision: double}\n"),
        (
            "jobs.toml",
            '[[jobs]]\nkind = "tpr"\ntpr = "a.tpr"\nnsteps = 5000\n[[jobs]]\nkind = "tpr"\ntpr = "b.tpr"\nprecision = "double"\n',
        ),
    ],
)
def test_two_jobs_in_every_format(tmp_path: Path, name: str, text: str) -> None:
    assert read_job_file(written(tmp_path, name, text)) == [A, B]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("job.json", json.dumps(A)),
        ("job.jsonl", json.dumps(A)),
        ("job.yaml", "kind: tpr\ntpr: a.tpr\nnsteps: 5000\n"),
        ("job.toml", 'kind = "tpr"\ntpr = "a.tpr"\nnsteps = 5000\n'),
    ],
)
def test_one_job_in_every_format(tmp_path: Path, name: str, text: str) -> None:
    assert read_job_file(written(tmp_path, name, text)) == [A]


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("jobs.json", '[{"kind": "tpr",}]', r"jobs\.json, line 1, column 17: not JSON"),
        ("jobs.json", "", r"jobs\.json, line 1, column 1: not JSON"),
        ("jobs.json", "[]", r"jobs\.json holds no job"),
        ("jobs.json", '{"jobs": []}', r"jobs\.json holds no job"),
        ("jobs.jsonl", '{"kind": "tpr"}\n{"kind"', r"jobs\.jsonl, line 2: not JSON: .* at column 8"),
        ("jobs.json", '{"kind": "tpr"}\n{"kind"', r"jobs\.json, line 2: not JSON"),
        ("jobs.jsonl", "\n\n", r"jobs\.jsonl holds no job"),
        ("jobs.yaml", "kind: [tpr", r"jobs\.yaml is not YAML: .*line 1"),
        ("jobs.yaml", "# nothing yet\n", r"jobs\.yaml holds no job"),
        ("jobs.toml", "kind = tpr", r"jobs\.toml is not TOML: .*line 1"),
        ("jobs.json", '{"tpr": "a", "tpr": "b"}', r'jobs\.json: the key "tpr" stands twice in one object; leave one'),
        ("jobs.jsonl", '{}\n{"s": {"a": 1, "a": 1}}', r'jobs\.jsonl, line 2: the key "a" stands twice'),
        ("jobs.yaml", "- {tpr: a}\n- {tpr: a, tpr: b}\n", r'jobs\.yaml: the key "tpr" stands twice'),
        ("jobs.json", f"[{'9' * 5000}]", r"jobs\.json: Exceeds the limit .*digits"),
        ("jobs.yaml", "name: 2026-13-45", r"jobs\.yaml: month must be in 1\.\.12"),
        ("jobs.yaml", "name: !!bool maybe", r"jobs\.yaml is not YAML: a value does not fit its tag"),
        *WITHOUT_JSON_FORM,
    ],
)
def test_what_can_not_be_read_says_where(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        read_job_file(written(tmp_path, name, text))


def test_a_file_that_is_missing_a_folder_or_no_text_is_told_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "binary.json").write_bytes(b"\x00\xff\xfe")
    for name, complaint in (
        ("missing.json", r"missing\.json can't be read: No such file"),
        ("", "can't be read: Is a directory"),
        ("binary.json", r"binary\.json is not a text file \(byte 1 is not UTF-8\)"),
    ):
        with pytest.raises(InputError, match=complaint):
            read_job_file(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "jobs.yaml",
            "name: 2026-01-02\nowner: 2026-01-02T03:04:05Z\nlabels: {1: a, 2026-01-02: b}\nproject: &x [2]\nx: *x",
        ),
        (
            "jobs.toml",
            'name = 2026-01-02\nowner = 2026-01-02T03:04:05Z\nlabels = {1 = "a", 2026-01-02 = "b"}\nproject = [2]\nx = [2]',
        ),
    ],
)
def test_dates_and_keys_are_text_as_in_json(tmp_path: Path, name: str, text: str) -> None:
    labels = {"1": "a", "2026-01-02": "b"}
    fields = {"name": "2026-01-02", "owner": "2026-01-02T03:04:05+00:00", "labels": labels, "project": [2], "x": [2]}
    assert read_job_file(written(tmp_path, name, text)) == [fields]


def test_a_yaml_entry_may_build_on_another(tmp_path: Path) -> None:
    text = "- &a {kind: tpr, tpr: a.tpr}\n- &b {<<: *a, tpr: b.tpr}\n- {<<: *b, tpr: c.tpr}\n"
    assert [entry["tpr"] for entry in read_job_file(written(tmp_path, "jobs.yaml", text))] == [
        "a.tpr",
        "b.tpr",
        "c.tpr",
    ]


def test_yaml_runs_no_code(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not YAML"):
        read_job_file(written(tmp_path, "jobs.yaml", "!!python/object/apply:os.getcwd []"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    entries=st.lists(st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.text(max_size=5)), min_size=1)
)
def test_an_array_and_lines_hold_the_same(tmp_path: Path, entries: list[dict[str, Any]]) -> None:
    lines = "\n".join(map(json.dumps, entries))
    assert read_job_file(written(tmp_path, "a.jsonl", lines)) == entries
    if entries != [{"jobs": entries[0].get("jobs")}]:
        assert read_job_file(written(tmp_path, "a.json", json.dumps(entries))) == entries


@pytest.mark.parametrize("name", ["demo.yaml", "gromacs.json", "one.toml", "sweep.jsonl"])
def test_the_examples_are_jobs(name: str) -> None:
    for entry in read_job_file(EXAMPLES / name):
        assert all(path.is_file() for path in input_paths(parse_spec(entry), EXAMPLES).values())


# ---------------------------------------------------------------- entries


def test_the_tutorial_entry_is_taken_as_it_stands() -> None:
    entry = {
        "kind": "tpr",
        "tpr": "benchMEM.tpr",
        "nsteps": 5000,
        "precision": "mixed",
        "backend_pref": "gromacs",
        "device": 0,
    }
    assert parse_spec(entry) == TprJob(tpr="benchMEM.tpr", nsteps=5000, backend_pref="gromacs", device=0)
    other = {"kind": "tpr", "tpr": "ligand-prod.tpr", "backend_pref": None, "platform_hint": None, "device": 1}
    assert parse_spec(other) == TprJob(tpr="ligand-prod.tpr", device=1)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"nstep": 5}, "field 'nstep': unknown field (did you mean 'nsteps'?)"),
        (
            {"nsteps": -5},
            "field 'nsteps': -5 is not allowed: expected `int` >= 0 (correct the value, or leave the field out)",
        ),
        (
            {"nsteps": "many"},
            "field 'nsteps': \"many\" is not allowed: expected `int | null`, got `str` (correct the value, or leave the field out)",
        ),
        (
            {"precision": "quadruple"},
            "field 'precision': \"quadruple\" is not allowed: invalid enum value 'quadruple' (one of: mixed, double, single, any)",
        ),
        ({"kind": "tprr"}, "field 'kind': \"tprr\" is not a kind of job (did you mean 'tpr'?)"),
        ({"kind": "pdb2"}, "field 'kind': \"pdb2\" is not a kind of job (known: tpr, gromacs-top, openmm, amber)"),
        ({"kind": None}, "field 'kind': missing (known: tpr, gromacs-top, openmm, amber)"),
        ({"kind": "gromacs-top"}, "field 'tpr': unknown field (did you mean 'top'?)"),
        (
            {"ntomp": 0},
            "field 'ntomp': 0 is not allowed: expected `int` >= 1 (correct the value, or leave the field out)",
        ),
        (
            {"tpr": ""},
            "field 'tpr': \"\" is not allowed: expected `str` of length >= 1 (correct the value, or leave the field out)",
        ),
        ({"device": True}, "field 'device': true is not allowed: expected `int | str | null`, got `bool`"),
        ({"labels": {"a": 1}}, "field 'labels"),
        ({"priority": math.nan}, "field 'priority': NaN is not allowed: expected `float` >= -1000000000.0"),
        ({"priority": math.inf}, "field 'priority': Infinity is not allowed: expected `float` <= 1000000000.0"),
        ({"nsteps": math.inf}, "field 'nsteps': Infinity is not allowed: expected `int | null`, got `float`"),
        ({"nsteps": dt.date(2026, 1, 1)}, "field 'nsteps': \"2026-01-01\" is not allowed"),
        ({1: 2}, "field '1': unknown field"),
        ({"x" * 99: 2}, "unknown field (known: "),
        ({"name": "x\ud800"}, "is no text in Unicode"),
    ],
    ids=str,
)
def test_a_complaint_names_field_value_and_remedy(changes: dict[Any, Any], complaint: str) -> None:
    with pytest.raises(ShapeError) as raised:
        parse_spec(A | changes)
    assert complaint in str(raised.value)
    refusal = raised.value.refusal
    assert refusal.text() == str(raised.value)
    assert (refusal.clause, bool(refusal.found), bool(refusal.remedy)) == ("field", True, True)


def test_a_file_that_is_not_named_is_asked_for() -> None:
    with pytest.raises(ShapeError, match=r"field 'mdp': missing in a job of kind 'gromacs-top' \(name the file\)"):
        parse_spec({"kind": "gromacs-top", "gro": "a.gro", "top": "a.top"})


@pytest.mark.parametrize(
    ("given_settings", "complaint"),
    [
        ({"timestep_fs": -1}, r"field 'settings\.timestep_fs': -1 is not allowed: expected `float` > 0"),
        ({"timestep": 1}, r"field 'settings\.timestep': unknown field"),
        ({"constraints": "some"}, r"field 'settings\.constraints': .*\(one of: none, h-bonds, all-bonds, h-angles\)"),
        (3, r"field 'settings': 3 is not allowed: expected `object`"),
    ],
)
def test_settings_are_named_by_their_whole_path(given_settings: Any, complaint: str) -> None:
    with pytest.raises(ShapeError, match=complaint):
        parse_spec({"kind": "openmm", "system": "a.xml", "settings": given_settings})


@pytest.mark.parametrize("entry", [None, 3, "a.tpr", [A], True], ids=str)
def test_what_is_no_object_is_no_job(entry: Any) -> None:
    with pytest.raises(ShapeError, match=r"^the entry: it is .*, and an entry is an object of fields"):
        parse_spec(entry)


def test_a_long_value_is_quoted_in_part() -> None:
    with pytest.raises(ShapeError) as raised:
        parse_spec(A | {"nsteps": "9" * 10_000})
    assert len(str(raised.value)) < 250


def test_interactive_as_a_backend_means_the_class() -> None:
    spec = parse_spec(A | {"backend_pref": "interactive"})
    assert (spec.backend_pref, spec.priority_class) == (None, "interactive")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(any_of(AnyJobSpec).filter(lambda spec: spec.backend_pref != "interactive"))
def test_every_spec_is_read_back_from_what_is_written_of_it(spec: AnyJobSpec) -> None:
    assert parse_spec(msgspec.to_builtins(spec)) == spec
    assert parse_spec(json.loads(msgspec.json.encode(spec))) == spec


def outcome_of(entry: Any) -> AnyJobSpec | Refusal:
    try:
        return parse_spec(entry)
    except ShapeError as error:
        return error.refusal


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = sorted({field for kind in KINDS.values() for field in kind.__struct_encode_fields__})


@settings(max_examples=300, deadline=None)
@given(
    ANYTHING | st.dictionaries(st.sampled_from([*FIELDS, "nstep"]), ANYTHING, max_size=4),
    st.sampled_from([*KINDS, None]),
)
def test_whatever_a_file_holds_is_a_job_or_is_refused_by_a_field(entry: Any, kind: str | None) -> None:
    if isinstance(entry, dict) and kind:
        entry = entry | {"kind": kind} | {role: "a" for role in INPUT_FIELDS[kind] if role not in entry}
    taken = outcome_of(entry)
    if isinstance(taken, Refusal):
        assert taken.subject.startswith(("field ", "the entry"))
        assert taken.found
        assert taken.remedy
    else:
        assert msgspec.json.decode(msgspec.json.encode(taken), type=AnyJobSpec) == taken


# ---------------------------------------------------------------- inputs


def test_relative_paths_are_relative_to_the_job_file(tmp_path: Path) -> None:
    spec = GromacsTopJob(gro="conf.gro", top="/data/a.top", mdp="~/a.mdp")
    paths = input_paths(spec, tmp_path)
    assert paths == {"gro": tmp_path / "conf.gro", "top": Path("/data/a.top"), "mdp": Path("~/a.mdp").expanduser()}


def test_inputs_that_are_not_named_are_none() -> None:
    assert named_files(OpenMMJob(system="a.xml", pdb="a.pdb")) == (("system", "a.xml"), ("pdb", "a.pdb"))
    assert list(input_paths(AmberJob(prmtop="a", inpcrd="b", settings=Settings()), Path("/"))) == ["prmtop", "inpcrd"]


def test_a_home_of_nobody_is_a_name_like_any_other(tmp_path: Path) -> None:
    name = "~nobody-of-this-name/a.tpr"
    assert input_paths(TprJob(tpr=name), tmp_path) == {"tpr": tmp_path / name}


def test_a_topology_s_own_files_are_found_and_the_engine_s_are_left_to_it(tmp_path: Path) -> None:
    (tmp_path / "ff").mkdir()
    top = written(
        tmp_path,
        "topol.top",
        '#include "amber99sb.ff/forcefield.itp"\n  #include "ff/water.itp"\n; #include "comment.itp"\n#include <ions.itp>\n',
    )
    written(tmp_path, "ff/water.itp", '#include "bonds.itp"\n#include "../topol.top"\n')
    written(tmp_path, "ff/bonds.itp", '#include "water.itp"\n')
    written(tmp_path, "ions.itp", "")
    written(tmp_path, "comment.itp", "")
    found = included_files(top)
    assert {name: path for name, path in found.items() if name != "topol.top"} == {
        "ff/water.itp": tmp_path / "ff/water.itp",
        "ff/bonds.itp": tmp_path / "ff/bonds.itp",
        "ions.itp": tmp_path / "ions.itp",
    }


def test_a_link_is_taken_under_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "common").mkdir()
    written(tmp_path, "common/water_v1.itp", '#include "ions.itp"\n')
    written(tmp_path, "common/ions.itp", "")
    written(tmp_path / "job", "mol_v1.itp", "")
    (tmp_path / "job" / "mol.itp").symlink_to("mol_v1.itp")
    (tmp_path / "job" / "water.itp").symlink_to("../common/water_v1.itp")
    (tmp_path / "job" / "ions.itp").symlink_to("water.itp")
    top = written(tmp_path / "job", "topol.top", '#include "mol.itp"\n#include "./water.itp"\n')
    found = included_files(top)
    assert found == {name: top.parent / name for name in ("mol.itp", "water.itp", "ions.itp")}


def test_names_that_lead_out_of_the_topology_s_folder_are_not_taken(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    written(tmp_path, "secret", "")
    top = written(tmp_path / "job", "topol.top", f'#include "../secret"\n#include "{tmp_path}/secret"\n')
    assert included_files(top) == {}


def test_a_topology_that_is_not_there_includes_nothing(tmp_path: Path) -> None:
    assert included_files(tmp_path / "topol.top") == {}
    assert included_files(written(tmp_path, "a.top", f'#include "{"x" * 5000}"\n')) == {}


def test_very_many_includes_come_to_an_end(tmp_path: Path) -> None:
    for number in range(30):
        written(tmp_path, f"{number}.itp", f'#include "{number + 1}.itp"\n')
    assert len(included_files(written(tmp_path, "a.top", '#include "0.itp"\n'), limit=10)) == 10
