"""The edge: each entry becomes a job with its inputs kept, or is refused by itself."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from events.codec import decode, encode
from events.jobs import JobSubmitted
from events.outcome import Examination, Refusal
from events.spec import AnyJobSpec
from mdactors.runtime.admission import Admission, Admitted
from mdactors.runtime.inputs import InputStore


class Reader:
    """The part of an engine that reads inputs."""

    def __init__(self, name: str = "reader") -> None:
        self.name = name
        self.kinds = ("tpr",)
        self.read: list[dict[str, bytes]] = []

    def examine(self, spec: AnyJobSpec, files: Mapping[str, Path]) -> Examination:
        self.read.append({role: path.read_bytes() for role, path in files.items()})
        refused = any(not data for data in self.read[-1].values())
        refusals = (Refusal(subject=self.name, clause="input", found="empty"),) if refused else ()
        return Examination(engine=self.name, atoms=len(self.read), refusals=refusals)


class Edge:
    """An admission over a folder of files."""

    def __init__(self, folder: Path) -> None:
        self.base = folder / "jobs"
        self.base.mkdir()
        self.engine = Reader()
        self.store = InputStore(folder / "inputs")
        engines: list[Any] = [self.engine, Reader("other")]
        self.admission = Admission(engines, self.store)

    def file(self, name: str, text: str = "text") -> str:
        path = self.base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return name

    def admit(self, *entries: Any) -> list[Admitted]:
        return self.admission.admit(entries, self.base, "ada", itertools.count(7).__next__)

    def one(self, **entry: Any) -> JobSubmitted:
        [admitted] = self.admit(entry)
        assert admitted.submitted is not None, admitted.refusals
        assert decode("JobSubmitted", 1, encode(admitted.submitted)) == admitted.submitted
        return admitted.submitted

    def refused(self, **entry: Any) -> tuple[str, ...]:
        [admitted] = self.admit(entry)
        admitted.name.encode()
        assert admitted.submitted is None
        assert self.kept() == []
        return tuple(refusal.text() for refusal in admitted.refusals)

    def kept(self) -> list[str]:
        return [path.read_text() for path in self.store.root.iterdir()] if self.store.root.exists() else []


@pytest.fixture
def edge(tmp_path: Path) -> Edge:
    return Edge(tmp_path)


# ---------------------------------------------------------------- taken


def test_a_job_carries_its_inputs_and_what_each_engine_read_in_them(edge: Edge) -> None:
    job = edge.one(kind="tpr", tpr=edge.file("a.tpr", "abc"), nsteps=500)
    assert (job.job, job.spec.name, job.spec.owner, job.spec.nsteps) == (7, "jobs/a", "ada", 500)
    [item] = job.inputs
    assert (item.role, item.name, item.path, item.size) == ("tpr", "a.tpr", str(edge.base / "a.tpr"), 3)
    assert (edge.store.root / item.sha256).read_text() == "abc"
    assert [examination.engine for examination in job.examinations] == ["reader", "other"]
    assert edge.engine.read == [{"tpr": b"abc"}]


def test_names_and_owners_that_are_given_stay(edge: Edge) -> None:
    job = edge.one(kind="tpr", tpr=edge.file("a.tpr"), name="water", owner="bob")
    assert (job.spec.name, job.spec.owner) == ("water", "bob")


def test_paths_are_relative_to_the_job_file_or_absolute(edge: Edge, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.tpr").write_text("x")
    assert edge.one(kind="tpr", tpr="../elsewhere.tpr").inputs[0].name == "elsewhere.tpr"
    assert edge.one(kind="tpr", tpr=str(tmp_path / "elsewhere.tpr")).inputs[0].name == "elsewhere.tpr"


def test_later_edits_do_not_matter(edge: Edge) -> None:
    name = edge.file("a.tpr", "as submitted")
    job = edge.one(kind="tpr", tpr=name)
    edge.file("a.tpr", "edited later")
    assert (edge.store.root / job.inputs[0].sha256).read_text() == "as submitted"
    assert edge.one(kind="tpr", tpr=name).inputs[0].sha256 != job.inputs[0].sha256


def test_a_topology_comes_with_what_it_includes_however_deep(edge: Edge) -> None:
    edge.file("conf.gro")
    edge.file("md.mdp")
    edge.file("topol.top", '#include "ff.itp"\n#include <ff/atoms.itp>\n#include "charmm36.ff/forcefield.itp"\n')
    edge.file("ff.itp", '#include "ff/bonds.itp"')
    edge.file("ff/atoms.itp", '#include "bonds.itp"')
    edge.file("ff/bonds.itp", "")
    job = edge.one(kind="gromacs-top", gro="conf.gro", top="topol.top", mdp="md.mdp")
    assert [item.role for item in job.inputs[:3]] == ["gro", "top", "mdp"]
    assert {item.name for item in job.inputs[3:]} == {"ff.itp", "ff/atoms.itp", "ff/bonds.itp"}
    assert {"gro", "top", "mdp", "include:ff.itp", "include:ff/atoms.itp", "include:ff/bonds.itp"} == set(
        edge.engine.read[0]
    )


def test_an_edit_of_an_included_file_is_another_input(edge: Edge) -> None:
    for name in ("conf.gro", "md.mdp", "ff.itp"):
        edge.file(name)
    edge.file("topol.top", '#include "ff.itp"')
    entry = {"kind": "gromacs-top", "gro": "conf.gro", "top": "topol.top", "mdp": "md.mdp"}
    before = edge.one(**entry)
    edge.file("ff.itp", "edited")
    after = edge.one(**entry)
    assert [a == b for a, b in zip(before.inputs, after.inputs, strict=True)] == [True, True, True, False]
    assert [a.atoms for a in (before.examinations[0], after.examinations[0])] == [1, 2]


def test_two_inputs_of_one_name_do_not_meet_in_one(edge: Edge) -> None:
    edge.file("a/system.xml", "system")
    edge.file("b/system.xml", "state")
    job = edge.one(kind="openmm", system="a/system.xml", state="b/system.xml")
    assert [(item.role, item.name) for item in job.inputs] == [
        ("system", "system-system.xml"),
        ("state", "state-system.xml"),
    ]


def test_a_batch_of_one_input_is_read_once(edge: Edge) -> None:
    name = edge.file("a.tpr")
    admitted = edge.admit(
        *[{"kind": "tpr", "tpr": name, "priority": number, "name": str(number)} for number in range(50)]
    )
    assert [each.submitted.job for each in admitted if each.submitted] == list(range(7, 57))
    assert [each.name for each in admitted] == [str(number) for number in range(50)]
    assert len(edge.engine.read) == 1
    edge.admit({"kind": "tpr", "tpr": name, "nsteps": 5})
    assert len(edge.engine.read) == 2


def test_what_an_engine_does_not_like_is_for_the_negotiation(edge: Edge) -> None:
    job = edge.one(kind="tpr", tpr=edge.file("empty.tpr", ""))
    assert [refusal.found for refusal in job.examinations[0].refusals] == ["empty"]


# ---------------------------------------------------------------- refused


def test_a_refusal_harms_no_other_entry_and_takes_no_number(edge: Edge) -> None:
    good = {"kind": "tpr", "tpr": edge.file("a.tpr")}
    admitted = edge.admit(good, {"kind": "tpr", "tpr": "gone.tpr"}, {"kind": "dance"}, 5, {**good, "nsteps": -1}, good)
    assert [each.submitted.job if each.submitted else None for each in admitted] == [7, None, None, None, None, 8]
    assert [each.name for each in admitted] == ["jobs/a", "jobs/gone", "", "", "a.tpr", "jobs/a"]
    assert all(each.refusals for each in admitted if each.submitted is None)


def test_a_missing_file_is_named_with_its_field(edge: Edge) -> None:
    [text] = edge.refused(kind="tpr", tpr="a: b/gone.tpr")
    assert text == f"field 'tpr': {edge.base}/a: b/gone.tpr: No such file or directory (check the path)"


def test_everything_that_is_missing_is_named_and_nothing_is_kept_of_the_rest(edge: Edge) -> None:
    texts = edge.refused(kind="gromacs-top", gro=edge.file("conf.gro"), top="gone.top", mdp="gone.mdp")
    assert [text.split(":")[0] for text in texts] == ["field 'top'", "field 'mdp'"]


@pytest.mark.parametrize(
    "name", ["nul\0.top", "nul\0/topol.top", "~nobody-of-this-name/a.top", "loop/a.top", "l" * 300, "."]
)
def test_no_name_is_too_strange_to_be_refused(edge: Edge, name: str) -> None:
    (edge.base / "loop").symlink_to("loop")
    [text] = edge.refused(kind="gromacs-top", gro=edge.file("conf.gro"), top=name, mdp=edge.file("md.mdp"))
    assert text.startswith("field 'top'")
    text.encode()


@pytest.mark.parametrize("name", ["nul\0.itp", "l" * 300, "loop", "../outside.itp", "."])
def test_includes_that_can_t_be_are_left_to_the_engine(edge: Edge, name: str) -> None:
    (edge.base / "loop").symlink_to("loop")
    (edge.base.parent / "outside.itp").write_text("")
    edge.file("topol.top", f'#include "{name}"\n')
    job = edge.one(kind="gromacs-top", gro=edge.file("conf.gro"), top="topol.top", mdp=edge.file("md.mdp"))
    assert len(job.inputs) == 3


@pytest.mark.parametrize(
    ("field", "value", "word"),
    [
        ("priority", float("nan"), "NaN is not allowed"),
        ("priority", float("inf"), "Infinity is not allowed"),
        ("name", "\ud800", r'"\ud800" is no text'),
        ("labels", {"a": "\udfff"}, r'"\udfff" is no text'),
        ("tpr", "\udcff.tpr", r'"\udcff.tpr" is no text'),
    ],
)
def test_what_the_journal_could_not_hold_is_refused(edge: Edge, field: str, value: Any, word: str) -> None:
    """JSON as Python reads it knows more than JSON; stored, it could never be read again."""
    edge.file("a.tpr")
    [text] = edge.refused(**{"kind": "tpr", "tpr": "a.tpr", field: value})
    assert word in text


def test_infinite_settings_are_refused(edge: Edge) -> None:
    files = {"prmtop": edge.file("a.prmtop"), "inpcrd": edge.file("a.inpcrd")}
    for name in ("timestep_fs", "temperature_kelvin", "friction_per_ps", "cutoff_nm"):
        [text] = edge.refused(kind="amber", **files, settings={name: float("inf")})
        assert text.startswith(f"field 'settings.{name}': Infinity is not allowed")


def test_a_folder_whose_name_is_not_utf_8_is_refused(edge: Edge) -> None:
    edge.base = edge.base / "gr\udcf6\udcdfe"
    [text] = edge.refused(kind="tpr", tpr=edge.file("a.tpr"))
    assert "its name is not UTF-8" in text
    text.encode()
