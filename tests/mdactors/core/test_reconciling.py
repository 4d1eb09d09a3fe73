"""Which comparisons are not answered."""

from __future__ import annotations

from events.results import PairReconciled, ReconcileFailed, ReconcileRequested
from mdactors.core.effects import Compare
from mdactors.core.reconciling import ReconcilerCore
from tests.builders import Story

FAILED = ReconcileFailed(a=1, b=2, why="no energies")
PASSED = PairReconciled(a=1, b=2, pair="gromacs-mixed:openmm-mixed", verdict="pass", terms=())


def test_each_request_is_compared_once_while_it_is_open() -> None:
    story = Story(ReconcilerCore())
    story.tell(ReconcileRequested(a=1, b=2), ReconcileRequested(a=2, b=3))
    assert story.decide() == [Compare(1, 2, 1), Compare(2, 3, 2)]
    assert story.decide() == []
    story.tell(ReconcileRequested(a=1, b=2))
    assert story.decide() == []


def test_an_answer_of_either_kind_closes_it_and_it_may_be_asked_again() -> None:
    for answer in (FAILED, PASSED):
        story = Story(ReconcilerCore())
        story.tell(ReconcileRequested(a=1, b=2))
        story.decide()
        story.tell(answer)
        assert story.decide() == []
        asked = story.tell(ReconcileRequested(a=1, b=2))
        assert story.decide() == [Compare(1, 2, asked)]


def test_what_was_answered_before_a_restart_is_not_compared_again() -> None:
    story = Story(ReconcilerCore())
    story.tell(ReconcileRequested(a=1, b=2), ReconcileRequested(a=2, b=1), PASSED)
    assert story.decide() == [Compare(2, 1, 2)]
