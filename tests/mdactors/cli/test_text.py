"""Numbers and times as people read them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdactors.cli.text import amount, build, clock, count, duration, moment, printable, rate, share, steps


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (-3, "0 s"),
        (0.4, "0 s"),
        (59.4, "59 s"),
        (60, "1 min 0 s"),
        (3599, "59 min 59 s"),
        (3600, "1 h 0 min"),
        (86399, "23 h 59 min"),
        (90000, "1 d 1 h"),
    ],
)
def test_time_spans(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("ns_per_day", "text"), [(None, ""), (0.01234, "0.0123"), (12.34, "12.3"), (123.45, "123.5"), (12345.6, "12346")]
)
def test_speeds(ns_per_day: float | None, text: str) -> None:
    assert rate(ns_per_day) == text


def test_progress() -> None:
    assert (steps(None, 5000), steps(12, None), steps(12, 5000)) == ("", "12", "12/5000")
    assert (share(None, 5000), share(12, None), share(2500, 5000)) == ("", "", "50 %")


def test_words() -> None:
    assert (amount(1, "job"), amount(0, "job")) == ("1 job", "0 jobs")
    assert (build("gromacs", "CPU", "mixed"), build("", "", "double")) == ("gromacs/CPU/mixed", "double")
    assert moment(None) == ""
    assert len(moment(1_700_000_000.0)) == len("2023-11-14 22:13:20")


def test_few_characters() -> None:
    assert [count(number) for number in (0, 9999, 10_000, 12_500, 400_000, 2_500_000)] == [
        "0",
        "9999",
        "10k",
        "12.5k",
        "400k",
        "2.5M",
    ]
    assert [clock(seconds) for seconds in (None, 5, 65, 11525)] == ["", "0:05", "1:05", "3:12:05"]


@given(st.text(st.characters(exclude_characters='"\\')))
def test_whatever_is_told_moves_no_cursor_and_loses_nothing(text: str) -> None:
    assert printable(text).isprintable()
    assert json.loads(f'"{printable(text)}"') == text
