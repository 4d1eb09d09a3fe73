"""Every core keeps the same bargain: `apply` folds, `decide` depends on nothing but what was folded."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from events.base import Event
from events.codec import EVENT_TYPES
from events.devices import DeviceReported, ProbeRequested
from events.platform import PlatformStarted
from events.results import ReconcileRequested
from mdactors.core.archiving import ArchivistCore
from mdactors.core.base import Core
from mdactors.core.execution import ExecutorCore
from mdactors.core.health import HealthCore
from mdactors.core.negotiation import NegotiatorCore
from mdactors.core.probing import ProberCore
from mdactors.core.reconciling import ReconcilerCore
from mdactors.core.scheduling import SchedulerCore
from tests.builders import Story, a_node, a_start, a_submission, an_acceptance, an_assignment, an_end
from tests.events.strategies import any_of

CORES: dict[str, Callable[[], Core]] = {
    "prober": lambda: ProberCore("n0"),
    "negotiator": NegotiatorCore,
    "scheduler": SchedulerCore,
    "executor": lambda: ExecutorCore("cpu:0/0"),
    "healthwatcher": HealthCore,
    "archivist": ArchivistCore,
    "reconciler": ReconcilerCore,
}

BUSY: tuple[Event, ...] = (
    PlatformStarted(version="0.1.0", node="n0", pid=1, boot_id="b"),
    a_node(slots=1),
    a_submission(1),
    a_submission(2),
    a_submission(3),
    an_acceptance(1),
    an_acceptance(2),
    an_assignment(1),
    a_start(1),
    DeviceReported(device="cpu:0", condition="lost"),
    ProbeRequested(),
    ReconcileRequested(a=1, b=2),
    an_end("failed", 1),
)
"""A log after which nearly every actor has something to do."""


@pytest.mark.parametrize("make", CORES.values(), ids=CORES)
def test_two_cores_that_heard_the_same_want_the_same(make: Callable[[], Core]) -> None:
    once, again = Story(make()), Story(make())
    once.tell(*BUSY)
    again.tell(*BUSY)
    assert once.decide() == again.decide()


@pytest.mark.parametrize("make", CORES.values(), ids=CORES)
def test_a_decision_in_between_changes_nothing_that_is_decided_on_published_facts(make: Callable[[], Core]) -> None:
    """Live, a core decides after every group; replayed, it decides once at the end. Facts must not differ."""
    live, replayed = Story(make()), Story(make())
    for event in BUSY:
        live.tell(event)
        live.follow()
    replayed.tell(*(record.event for record in live.log))
    assert live.follow() == replayed.follow() == []


@pytest.mark.parametrize("make", CORES.values(), ids=CORES)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(events=st.lists(st.one_of([any_of(kind) for kind in EVENT_TYPES]), max_size=6))
def test_no_core_is_surprised_by_facts_about_strangers(make: Callable[[], Core], events: list[Event]) -> None:
    story = Story(make())
    story.tell(*BUSY)
    story.tell(*(event for event in events if getattr(event, "job", 0) not in {1, 2, 3}))
    story.decide()
