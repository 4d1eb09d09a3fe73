"""What a user may ask for, and what is refused by its shape alone."""

from __future__ import annotations

import math
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from events.codec import decode, encode
from events.jobs import JobSubmitted
from events.spec import INPUT_FIELDS, AnyJobSpec, FileName, GromacsTopJob, MDJobSpec, OpenMMJob, TprJob, kind_of
from tests.events.strategies import any_of

KINDS: tuple[type[MDJobSpec], ...] = get_args(AnyJobSpec)


def spec(**fields: Any) -> AnyJobSpec:
    asked: AnyJobSpec = msgspec.convert({"kind": "tpr", "tpr": "a.tpr"} | fields, AnyJobSpec)
    return asked


def test_the_tutorial_job_is_a_job() -> None:
    asked = spec(nsteps=500_000, precision="mixed", backend_pref=None, platform_hint=None, device=1)
    assert asked == TprJob(tpr="a.tpr", nsteps=500_000, device=1)


def test_defaults_are_those_of_production_runs() -> None:
    bare = spec()
    assert (bare.precision, bare.backend_pref, bare.device, bare.nsteps) == ("mixed", None, None, None)
    assert (bare.priority, bare.priority_class, bare.ntomp) == (0.0, "normal", None)


@pytest.mark.parametrize(
    "fields",
    [
        {"nsteps": -1},
        {"nsteps": 2**63},
        {"nsteps": 1.5},
        {"nsteps": True},
        {"precision": "quadruple"},
        {"priority_class": "urgent"},
        {"device": -1},
        {"ntomp": 0},
        {"tpr": ""},
        {"kind": "pdb"},
        {"steps": 10},
        {"labels": {"a": 1}},
    ],
    ids=str,
)
def test_what_is_out_of_range_or_unknown_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        spec(**fields)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("field", ["timestep_fs", "temperature_kelvin", "friction_per_ps", "cutoff_nm", "priority"])
def test_what_is_no_number_is_refused_for_json_can_not_write_it(field: str, number: float) -> None:
    """A journal that holds one could never be read again."""
    fields: dict[str, Any] = {"kind": "openmm", "system": "a.xml", "priority": 0.0, "settings": {}}
    (fields if field in fields else fields["settings"])[field] = number
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert(fields, AnyJobSpec)


@pytest.mark.parametrize(
    "settings_given",
    [{"timestep_fs": 0}, {"friction_per_ps": -1}, {"report_steps": 0}, {"constraints": "some"}, {"dt": 1}],
)
def test_settings_are_checked_as_strictly(settings_given: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError, match="settings"):
        msgspec.convert({"kind": "openmm", "system": "a.xml", "settings": settings_given}, AnyJobSpec)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(any_of(AnyJobSpec))
def test_every_spec_that_can_be_asked_for_can_be_kept(asked: AnyJobSpec) -> None:
    event = JobSubmitted(job=1, spec=asked, inputs=(), examinations=())
    assert decode("JobSubmitted", 1, encode(event)) == event


def test_kinds_are_named_as_they_are_written() -> None:
    assert kind_of(TprJob(tpr="a")) == "tpr"
    assert kind_of(GromacsTopJob(gro="a", top="b", mdp="c")) == "gromacs-top"
    assert set(INPUT_FIELDS) == {str(kind.__struct_config__.tag) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.__struct_config__.tag))
def test_every_field_that_names_a_file_is_known_as_an_input(kind: type[MDJobSpec]) -> None:
    files = [field.name for field in msgspec.structs.fields(kind) if field.type in (FileName, FileName | None)]
    assert tuple(sorted(files)) == tuple(sorted(INPUT_FIELDS[str(kind.__struct_config__.tag)]))


def test_inputs_of_an_openmm_job_may_be_left_out() -> None:
    bare = OpenMMJob(system="a.xml")
    assert (bare.state, bare.pdb, bare.integrator) == (None, None, None)
