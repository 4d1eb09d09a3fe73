"""The words that two neighbours share, and that what is here speaks them."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec
import pytest

from mdactors import ports
from mdactors.engines.gromacs.engine import GromacsEngine
from mdactors.engines.openmm.engine import OpenMMEngine
from mdactors.ports import Clock, Engine, Evidence, Found, Host, Journal, KeptInputs, LaunchPlan, Situation, Substrate
from mdactors.runtime.clock import LoopClock, SystemClock
from mdactors.runtime.inputs import InputStore
from mdactors.runtime.journal.memory import MemoryJournal
from mdactors.runtime.journal.sqlite import SqliteJournal
from mdactors.substrates.local.local import LocalSubstrate
from tests.builders import a_spec

IMPLEMENTED: list[tuple[type, type]] = [
    (Engine, GromacsEngine),
    (Engine, OpenMMEngine),
    (Substrate, LocalSubstrate),
    (Journal, SqliteJournal),
    (Journal, MemoryJournal),
    (Clock, SystemClock),
    (Clock, LoopClock),
    (KeptInputs, InputStore),
]

STRUCTS = [kind for kind in vars(ports).values() if isinstance(kind, type) and kind.__module__ == ports.__name__]


def methods(kind: type) -> dict[str, Any]:
    return {name: each for name, each in vars(kind).items() if inspect.isfunction(each) and not name.startswith("_")}


@pytest.mark.parametrize(("port", "kind"), IMPLEMENTED, ids=lambda each: each.__name__)
def test_whoever_stands_behind_a_port_takes_what_the_port_gives(port: type, kind: type) -> None:
    for name, wanted in methods(port).items():
        found = getattr(kind, name)
        ours, theirs = inspect.signature(found).parameters, inspect.signature(wanted).parameters
        assert list(ours)[: len(theirs)] == list(theirs), name
        assert all(each.default is not inspect.Parameter.empty for each in list(ours.values())[len(theirs) :]), name
        assert inspect.iscoroutinefunction(found) == inspect.iscoroutinefunction(wanted), name


@pytest.mark.parametrize(
    "kind", [each for each in STRUCTS if issubclass(each, msgspec.Struct)], ids=lambda k: k.__name__
)
def test_what_is_handed_over_can_not_be_changed_and_is_given_by_name(kind: type[msgspec.Struct]) -> None:
    assert kind.__struct_config__.frozen
    with pytest.raises(TypeError):
        kind(*range(len(kind.__struct_fields__)))


def test_a_fresh_start_and_a_bare_plan_need_no_more_words() -> None:
    assert Situation() == Situation(finished=False, step=0, checkpoint="", stale=(), remarks=())
    plan = LaunchPlan(argv=("/usr/bin/gmx", "mdrun"))
    assert (plan.prepare, plan.links, plan.files, plan.variables, plan.set_aside) == ((), {}, {}, {}, ())
    assert (plan.stop_signal, plan.grace_seconds > 0) == (15, True)
    assert LaunchPlan(argv=()).variables is not plan.variables


def test_a_plan_is_pure_data() -> None:
    plan = LaunchPlan(argv=("/usr/bin/gmx",), links={"topol.tpr": "/cache/a.tpr"}, added=("-ntmpi 1",))
    assert msgspec.json.decode(msgspec.json.encode(plan), type=LaunchPlan) == plan


def test_what_vanished_left_nothing() -> None:
    assert (Found(state="vanished").handle, Found(state="absent").exit) == (None, None)
    assert Evidence(spec=a_spec(), attempt=1, exit=None, stop_asked=False).exit is None


@pytest.mark.parametrize("kind", [Host, Evidence])
def test_what_an_engine_has_to_know_has_no_default(kind: type[msgspec.Struct]) -> None:
    assert all(field.required for field in msgspec.structs.fields(kind))
