from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.outcome import Figures
from mdactors.archive.columns import COLUMNS, CONTEXT_NEEDED, FORMULA, cell, guard, lacking, ready_at, unguard
from tests.mdactors.archive.builders import FIGURES, START, a_context, a_job, an_attempt


def test_names_are_unique_plain_and_begin_with_the_key() -> None:
    names = [column.name for column in COLUMNS]
    assert names[:2] == ["job", "attempt"]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in names)
    assert all(column.meaning for column in COLUMNS)


def test_a_complete_context_lacks_nothing() -> None:
    assert lacking(a_context(), FIGURES) == ()
    assert lacking(a_context(driver="", build="", neighbours=0), FIGURES) == ()


@pytest.mark.parametrize("name", CONTEXT_NEEDED)
def test_every_needed_field_is_missed(name: str) -> None:
    empty: object = {"threads": 0, "inputs_sha256": ()}.get(name, "")
    assert lacking(a_context(**{name: empty}), FIGURES) == (name,)


def test_atoms_belong_to_the_context_of_a_speed() -> None:
    assert lacking(a_context(), Figures(ns_per_day=1.0)) == ("atoms",)


def test_the_first_attempt_waits_from_submission_a_later_one_from_the_end_before() -> None:
    first, second = an_attempt(1), an_attempt(2, assigned=START + 130.0)
    job = a_job(first, second)
    assert ready_at(job, first) == START
    assert ready_at(job, second) == START + 100.0


def test_an_attempt_that_is_archived_late_does_not_see_its_successor() -> None:
    first, second = an_attempt(1, ended=None), an_attempt(2, ended=START + 500.0)
    assert ready_at(a_job(first, second), first) == START


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, None),
        (True, "true"),
        (False, "false"),
        (-3, -3),
        (-6e-5, -6e-5),
        (math.nan, None),
        (math.inf, None),
        ((0, 2), "0 2"),
        (("-ntmpi", "1"), "'-ntmpi 1"),
        ((), ""),
        ("a\r\nb\x0bc", "a b c"),
        ("=1+1", "'=1+1"),
    ],
)
def test_cells(value: object, written: object) -> None:
    made = cell(value)  # type: ignore[arg-type]
    assert made == written
    assert type(made) is type(written)


@given(st.text())
def test_guarded_text_is_no_formula_and_comes_back(text: str) -> None:
    assert not guard(text).startswith(FORMULA)
    assert unguard(guard(text)) == text


@given(st.text(alphabet="'=+-@\tx", max_size=6))
def test_the_guard_is_reversible_for_apostrophes_too(text: str) -> None:
    assert unguard(guard(text)) == text
