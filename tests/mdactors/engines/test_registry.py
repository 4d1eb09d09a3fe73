"""Engines by entry point: ours and third parties' are found the same way."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest
from structlog.testing import capture_logs

from mdactors.engines.gromacs.engine import GromacsEngine
from mdactors.engines.openmm.engine import OpenMMEngine
from mdactors.engines.registry import GROUP, find_engines


class ThirdParty(GromacsEngine):
    """An engine from elsewhere."""

    name = "third"


class Impostor(GromacsEngine):
    """An engine under a name that is taken."""


class Broken(GromacsEngine):
    """An engine that can't be made."""

    def __init__(self) -> None:
        raise RuntimeError("no licence")


def point(name: str, kind: str) -> EntryPoint:
    return EntryPoint(name, f"{__name__}:{kind}", GROUP)


def found(*points: EntryPoint) -> dict[str, type]:
    return {engine.name: type(engine) for engine in find_engines(points)}


OURS: dict[str, type] = {"gromacs": GromacsEngine, "openmm": OpenMMEngine}


def test_ours_need_no_installation() -> None:
    assert found() == OURS
    assert list(found()) == ["gromacs", "openmm"]


def test_a_third_party_s_engine_comes_after_ours() -> None:
    assert list(found(point("third", "ThirdParty")).items()) == [*OURS.items(), ("third", ThirdParty)]


@pytest.mark.parametrize("name", ["gromacs", "another"])
def test_nobody_takes_the_place_of_an_engine_that_is_there(name: str) -> None:
    with capture_logs():
        assert found(point(name, "Impostor")) == OURS


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [("Broken", "no licence"), ("Missing", "no attribute 'Missing'"), ("__name__", "not callable")],
)
def test_one_that_can_not_be_loaded_is_told_and_left_out(kind: str, complaint: str) -> None:
    with capture_logs() as logs:
        assert found(point("bad", kind), point("third", "ThirdParty")) == OURS | {"third": ThirdParty}
    (told,) = logs
    assert (told["log_level"], told["engine"], told["entry_point"]) == ("error", "bad", f"{__name__}:{kind}")


def test_what_is_installed_is_found_by_itself() -> None:
    assert OURS.items() <= {engine.name: type(engine) for engine in find_engines()}.items()
