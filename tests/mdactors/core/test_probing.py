"""When the matrix is renewed: by need, never by the clock alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from events.devices import ProbeRequested
from events.jobs import JobRejected
from events.platform import PlatformStarted, Policy
from mdactors.core.effects import Look
from mdactors.core.negotiation import NegotiatorCore
from mdactors.core.probing import ProberCore
from tests.builders import Story, a_node, a_submission

BORN = PlatformStarted(version="0.1.0", node="n0", pid=1, boot_id="b", policy=Policy(probe_ttl_seconds=300.0))


def probed_story() -> Story:
    story = Story(ProberCore("n0"))
    story.tell(BORN, a_node())
    assert story.decide() == []
    return story


def test_a_first_life_looks_at_once_and_once() -> None:
    story = Story(ProberCore("n0"))
    assert story.decide() == [Look(0)]
    story.tell(BORN, a_submission(1), a_submission(2))
    assert story.decide() == []


def test_an_idle_platform_looks_at_nothing() -> None:
    story = probed_story()
    story.wait(1e6)
    assert story.decide() == []


def test_a_job_after_the_time_to_live_makes_it_look_and_one_before_does_not() -> None:
    story = probed_story()
    story.wait(290.0)
    story.tell(a_submission(1))
    assert story.decide() == []
    story.wait(20.0)
    asked = story.tell(a_submission(2))
    assert story.decide() == [Look(asked)]
    story.tell(a_submission(3))
    assert story.decide() == []
    story.tell(a_node(), a_submission(4))
    assert story.decide() == []


def test_who_asks_is_answered_however_new_the_matrix_is() -> None:
    story = probed_story()
    asked = story.tell(ProbeRequested(by="ada"))
    assert story.decide() == [Look(asked)]


def test_who_asks_while_it_looks_is_answered_by_a_look_of_their_own() -> None:
    story = probed_story()
    first = story.tell(ProbeRequested(by="ada"))
    assert story.decide() == [Look(first)]
    second = story.tell(ProbeRequested(by="bob"), ProbeRequested(by="eve"))
    assert story.decide() == []
    story.tell(a_node(), cause=first)
    assert story.decide() == [Look(second)]
    story.tell(a_node(), cause=second)
    assert story.decide() == []


def test_a_job_that_comes_while_it_looks_is_served_by_that_look_in_this_life_and_the_next() -> None:
    story = Story(ProberCore("n0"))
    born = story.tell(BORN)
    assert story.decide() == [Look(born)]
    story.tell(a_submission(1))
    story.tell(a_node(), cause=born)
    story.tell(BORN)
    reborn = ProberCore("n0")
    for record in story.log:
        reborn.apply(record)
    assert story.decide() == reborn.decide(story.now) == []


def test_a_new_life_looks_when_the_matrix_is_past_its_time() -> None:
    story = probed_story()
    story.tell(BORN)
    assert story.decide() == []
    story.wait(301.0)
    born = story.tell(BORN)
    assert story.decide() == [Look(born)]


def test_the_time_to_live_is_that_of_the_policy() -> None:
    story = Story(ProberCore("n0"))
    story.tell(PlatformStarted(version="1", node="n0", pid=1, boot_id="b", policy=Policy(probe_ttl_seconds=5.0)))
    story.tell(a_node())
    story.wait(5.0)
    asked = story.tell(a_submission(1))
    assert story.decide() == [Look(asked)]


def test_another_node_s_matrix_is_not_ours() -> None:
    story = Story(ProberCore("n0"))
    story.tell(a_node(node="n1"))
    assert story.decide() == [Look(0)]


@given(st.lists(st.one_of(st.floats(0, 700), st.just("probe")), max_size=12), st.floats(0, 700))
def test_whenever_a_refusal_waits_for_a_new_matrix_somebody_makes_one(past: list[float | str], pause: float) -> None:
    """The Negotiator holds a refusal back by the rule by which the Prober looks: else a job would wait for ever."""
    prober, negotiator = ProberCore("n0"), NegotiatorCore()
    story = Story(prober, negotiator)
    story.tell(BORN, a_node())
    story.decide()
    for event in past:
        if isinstance(event, float):
            story.wait(event)
        else:
            story.tell(a_node())
    story.wait(pause)
    story.tell(a_submission(1, precision="double"))
    looks, answers = prober.decide(story.now), negotiator.decide(story.now)
    assert bool(looks) != bool(answers)
    story.tell(a_node())
    assert [type(event) for event in story.follow()] == [JobRejected]
