"""The capability matrix."""

from __future__ import annotations

from events.base import Event
from events.devices import DeviceRecovered, DeviceUnhealthy
from events.hardware import Absence
from mdactors.core.capabilities import Matrix
from tests.builders import START, a_capability, a_device, a_node, a_submission, records

LAMMPS = Absence(engine="lammps", what="lmp", why="not found")


def matrix_of(*events: Event) -> Matrix:
    matrix = Matrix()
    for record in records(*events):
        matrix.apply(record)
    return matrix


def test_nothing_is_known_before_the_first_probe() -> None:
    assert not matrix_of(DeviceUnhealthy(device="cpu:0", reason="hot")).known
    assert matrix_of(a_node()).known


def test_a_probe_replaces_all_that_was_known_of_its_node_and_of_no_other() -> None:
    old = a_node(slots={"cpu:0": 2, "cuda:0": 1}, absences=(LAMMPS,))
    other = a_node(a_capability("cpu:7", node="n1"), slots=0, devices=(a_device("cpu:7", node="n1"),), node="n1")
    matrix = matrix_of(old, other, a_node(slots=1))
    assert list(matrix.slots) == ["cpu:0/0"]
    assert set(matrix.devices) == {"cpu:0", "cpu:7"}
    assert {row.device for row in matrix.capabilities.values()} == {"cpu:0", "cpu:7"}
    assert matrix.absences == ()
    assert matrix.probed_at == {"n0": START + 3, "n1": START + 2}


def test_what_is_gone_is_remembered_for_what_ran_on_it() -> None:
    old = a_capability("cuda:0")
    matrix = matrix_of(a_node(old), a_node())
    assert old.id not in matrix.capabilities
    assert matrix.ever[old.id] == old


def test_a_device_is_in_trouble_until_it_recovers() -> None:
    node = a_node()
    (row,) = node.capabilities
    sick = matrix_of(node, DeviceUnhealthy(device="cpu:0", reason="ECC errors"))
    assert sick.trouble(row) == "device cpu:0 is unhealthy: ECC errors"
    assert matrix_of(node, DeviceRecovered(device="cpu:0")).trouble(row) == ""
    assert sick.trouble(a_capability("cuda:0")) == ""


def test_trouble_outlives_a_new_probe() -> None:
    matrix = matrix_of(a_node(), DeviceUnhealthy(device="cpu:0", reason="hot"), a_node())
    assert matrix.trouble(a_capability()) != ""


def test_a_frozen_build_says_why_or_at_least_that_it_is() -> None:
    assert Matrix().trouble(a_capability(health="frozen", why="failed reconciliation")) == "failed reconciliation"
    assert Matrix().trouble(a_capability(health="frozen")) == "it is frozen"


def test_the_matrix_says_which_facts_are_about_hardware() -> None:
    matrix = Matrix()
    about = [matrix.apply(record) for record in records(a_node(), a_submission(), DeviceRecovered(device="cpu:0"))]
    assert about == [True, False, True]
