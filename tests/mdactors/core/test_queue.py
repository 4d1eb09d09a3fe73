"""The waiting line, against one that looks at everybody each time."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mdactors.core.queue import CLASS_BONUS, Queue, static_key
from tests.builders import START

PRIORITIES = st.floats(-100, 100).map(lambda value: round(value, 2))
JOBS = st.tuples(PRIORITIES, st.sampled_from(sorted(CLASS_BONUS)), st.integers(0, 10**6))
DEVICES = st.frozensets(st.sampled_from(["cpu:0", "cuda:0", "cuda:1"]))


def effective(priority: float, priority_class: str, waited_hours: float, rate: float) -> float:
    return priority + CLASS_BONUS[priority_class] + rate * waited_hours


@given(JOBS, JOBS, st.floats(0, 100), st.integers(0, 10**7))
def test_the_key_orders_as_the_effective_priority_at_any_time(
    a: tuple[float, str, int], b: tuple[float, str, int], rate: float, later: int
) -> None:
    now = max(a[2], b[2]) + later
    ours, theirs = (effective(*job[:2], (now - job[2]) / 3600, rate) for job in (a, b))
    assume(abs(ours - theirs) > 1e-4)  # the keys of today's dates are exact to about a millionth
    keys = [static_key(*job[:2], START + job[2], rate) for job in (a, b)]
    assert (keys[0] > keys[1]) == (ours > theirs)


def test_a_job_that_waited_long_enough_overtakes() -> None:
    old = static_key(0.0, "normal", START, 1.0)
    assert static_key(5.0, "normal", START + 4.9 * 3600, 1.0) > old
    assert static_key(5.0, "normal", START + 5.1 * 3600, 1.0) < old
    assert static_key(0.0, "interactive", START + 9.9 * 3600, 1.0) > old > static_key(0.0, "bulk", START, 1.0)


def test_without_aging_only_priority_counts() -> None:
    assert static_key(1.0, "normal", START + 1e6, 0.0) > static_key(0.0, "normal", START, 0.0)


def test_a_class_that_is_none_is_a_fault() -> None:
    with pytest.raises(KeyError):
        static_key(0.0, "urgent", START, 1.0)


def test_who_came_first_goes_first_among_equals() -> None:
    queue = Queue()
    for job in (3, 1, 2):
        queue.put(job, 5.0, ["cpu:0"])
    assert queue.best(frozenset({"cpu:0"})) == 1


def test_who_looks_takes_nobody_out() -> None:
    queue = Queue()
    queue.put(1, 5.0, ["cpu:0"])
    assert [queue.best(frozenset({"cpu:0"})) for _ in range(3)] == [1, 1, 1]


def test_moving_to_and_fro_leaves_nothing_behind() -> None:
    queue = Queue()
    for _ in range(100):
        queue.put(1, 5.0, ["cpu:0"])
        queue.put(1, 5.0, ["cpu:0"])
    assert sum(map(len, queue._heaps.values())) == 1


class Line(RuleBasedStateMachine):
    """The queue beside a dictionary that is searched from end to end."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = Queue()
        self.naive: dict[int, tuple[float, frozenset[str]]] = {}

    @rule(job=st.integers(1, 6), key=st.sampled_from([-1.0, 0.0, 1.0, 2.0]), devices=DEVICES)
    def put(self, job: int, key: float, devices: frozenset[str]) -> None:
        self.queue.put(job, key, devices)
        self.naive[job] = key, devices

    @rule(job=st.integers(1, 6))
    def drop(self, job: int) -> None:
        self.queue.drop(job)
        self.naive.pop(job, None)

    @rule(free=DEVICES)
    def look(self, free: frozenset[str]) -> None:
        able = [(-key, job) for job, (key, devices) in self.naive.items() if devices & free]
        assert self.queue.best(free) == (min(able)[1] if able else None)

    @invariant()
    def both_hold_the_same(self) -> None:
        assert len(self.queue) == len(self.naive)
        assert all((job in self.queue) == (job in self.naive) for job in range(1, 7))


TestLine = Line.TestCase
