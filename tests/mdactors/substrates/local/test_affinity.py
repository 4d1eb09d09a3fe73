"""CPUs shared out: never twice, cores whole, neighbours together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.hardware import Device
from mdactors.errors import ConfigError
from mdactors.substrates.local.affinity import Core, Cpu, cpu_layout, parse_cpu_list, slots_for


def cpu_device(cores: list[Core] | tuple[Core, ...]) -> Device:
    return Device(id="cpu:0", node="n", type="cpu", cpus=tuple(sorted(cpu for core in cores for cpu in core)))


def machine(cores: int, threads: int = 2, nodes: int = 2) -> tuple[Cpu, ...]:
    """A machine whose kernel counts first all first hardware threads, alternating between NUMA nodes, then the second ones."""
    return tuple(
        Cpu(number=core + thread * cores, siblings=tuple(core + t * cores for t in range(threads)), node=core % nodes)
        for thread in range(threads)
        for core in range(cores)
    )


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-3,8\n", (0, 1, 2, 3, 8)),
        ("5", (5,)),
        ("", ()),
        (" 1 , 0 ", (0, 1)),
        ("x,2-y,4", (4,)),
        ("3-1", ()),
        ("-1", ()),
    ],
)
def test_kernel_lists(text: str, cpus: tuple[int, ...]) -> None:
    assert parse_cpu_list(text) == cpus


def test_siblings_stay_together_and_nodes_too() -> None:
    assert cpu_layout(machine(4), range(8)) == ((0, 4), (2, 6), (1, 5), (3, 7))


def test_what_is_not_allowed_is_left_out() -> None:
    assert cpu_layout(machine(4), {1, 2, 6}) == ((2, 6), (1,))
    assert cpu_layout(machine(4), ()) == ()


@pytest.mark.parametrize(("quota", "cores"), [(None, 4), (8.0, 4), (2.9, 2), (0.5, 1)])
def test_quota_limits_the_cores(quota: float | None, cores: int) -> None:
    assert len(cpu_layout(machine(4), range(8), quota)) == cores


def test_contradictory_topology_gives_no_cpu_twice() -> None:
    contradictory = (Cpu(number=0, siblings=(0, 1)), Cpu(number=1, siblings=(1, 2)), Cpu(number=2, siblings=(2,)))
    assert cpu_layout(contradictory, range(3)) == ((0, 1), (2,))


@pytest.mark.parametrize(
    ("cores", "threads"),
    [
        (0, []),
        (1, [1]),
        (2, [1, 1]),
        (4, [1, 1, 1, 1]),
        (5, [5]),
        (7, [7]),
        (8, [4, 4]),
        (10, [5, 5]),
        (11, [6, 5]),
        (64, [4] * 16),
    ],
)
def test_default_size_of_cpu_slots(cores: int, threads: list[int]) -> None:
    layout = cpu_layout(machine(cores), range(2 * cores))
    assert [slot.threads for slot in slots_for(cpu_device(layout), cores=layout)] == threads


def test_slots_are_named_and_hold_whole_cores() -> None:
    layout = cpu_layout(machine(4), range(8))
    slots = slots_for(cpu_device(layout), count=2, cores=layout)
    assert [(slot.id, slot.node, slot.device, slot.cpus, slot.threads) for slot in slots] == [
        ("cpu:0/0", "n", "cpu:0", (0, 2, 4, 6), 2),
        ("cpu:0/1", "n", "cpu:0", (1, 3, 5, 7), 2),
    ]


def test_threads_alone_makes_as_many_slots_as_fit() -> None:
    layout = cpu_layout(machine(7, threads=1, nodes=1), range(7))
    assert [slot.cpus for slot in slots_for(cpu_device(layout), 3, cores=layout)] == [(0, 1, 2), (3, 4, 5)]
    assert [slot.cpus for slot in slots_for(cpu_device(layout), 2, 2, cores=layout)] == [(0, 1), (2, 3)]


def test_without_a_layout_each_cpu_is_a_core() -> None:
    assert [slot.cpus for slot in slots_for(cpu_device([(0,), (1,)]))] == [(0,), (1,)]


def test_accelerator_is_one_slot_unless_told_otherwise() -> None:
    gpu = Device(id="cuda:0", node="n", type="cuda", cpus=(0, 1, 2, 3))
    assert [(slot.id, slot.cpus, slot.threads) for slot in slots_for(gpu)] == [("cuda:0/0", (0, 1, 2, 3), 4)]
    assert [slot.cpus for slot in slots_for(gpu, count=2)] == [(0, 1), (2, 3)]
    nowhere = Device(id="cuda:0", node="n", type="cuda")
    assert [(slot.cpus, slot.threads) for slot in slots_for(nowhere)] == [((), 1)]


@pytest.mark.parametrize(
    ("threads", "count", "words"),
    [
        (3, None, ("slots.threads = 3", "2 cores", "from 1 to 2")),
        (None, 3, ("slots.count = 3", "2 cores", "from 1 to 2")),
        (2, 2, ("slots.threads = 2", "slots.count = 2", "4 cores are needed", "at most 1")),
        (0, None, ("slots.threads = 0",)),
        (None, -1, ("slots.count = -1",)),
    ],
)
def test_oversubscription_is_refused(threads: int | None, count: int | None, words: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as caught:
        slots_for(cpu_device([(0, 2), (1, 3)]), threads, count, cores=[(0, 2), (1, 3)])
    assert all(word in str(caught.value) for word in words)


def test_one_core_is_told_as_one() -> None:
    with pytest.raises(ConfigError, match="it has 1 core, and"):
        slots_for(cpu_device([(0, 1)]), 2, cores=[(0, 1)])


@st.composite
def layouts(draw: st.DrawFn) -> tuple[Core, ...]:
    cores, smt, nodes = draw(st.integers(1, 40)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    forbidden = draw(st.sets(st.integers(0, 159), max_size=30))
    return cpu_layout(machine(cores, smt, nodes), set(range(cores * smt)) - forbidden)


@given(layouts(), st.none() | st.integers(1, 8), st.none() | st.integers(1, 8))
def test_no_core_is_ever_in_two_slots(layout: tuple[Core, ...], threads: int | None, count: int | None) -> None:
    try:
        slots = slots_for(cpu_device(layout), threads, count, cores=layout)
    except ConfigError:
        return
    given_out = [cpu for slot in slots for cpu in slot.cpus]
    assert len(given_out) == len(set(given_out))
    assert all(set(core) <= set(slot.cpus) or not set(core) & set(slot.cpus) for core in layout for slot in slots)
    assert all(slot.threads == sum(set(core) <= set(slot.cpus) for core in layout) for slot in slots)
    assert threads is None or all(slot.threads == threads for slot in slots)
    assert count is None or len(slots) == count
    assert threads is not None or sorted(given_out) == sorted(cpu for core in layout for cpu in core)
