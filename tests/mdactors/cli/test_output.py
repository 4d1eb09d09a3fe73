"""Tables, colours, and who gets which stream."""

from __future__ import annotations

import sys

import pytest

from mdactors.cli.output import Output


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)


def test_a_table_is_aligned_and_leaves_out_what_is_empty(capsys: pytest.CaptureFixture[str]) -> None:
    Output({}).table(("job", "name", "why", "state"), [("1", "water", "", "x"), ("22", "a", "", "yy")], right="job")
    assert capsys.readouterr().out == "job  name   state\n  1  water  x\n 22  a      yy\n"


def test_an_empty_table_is_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Output({}).table(("job", "name"), [])
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("terminal")
def test_colours_only_where_a_person_looks_and_wants_them() -> None:
    assert Output({}).paint("x", "red") == "\x1b[31mx\x1b[0m"
    assert Output({"NO_COLOR": "1"}).paint("x", "red") == "x"
    assert Output({"TERM": "dumb"}).paint("x", "red") == "x"


def test_no_colours_in_a_pipe() -> None:
    assert Output({}).paint("x", "red") == "x"


@pytest.mark.usefixtures("terminal")
def test_pictures_only_where_the_cursor_moves() -> None:
    assert Output({}).animated
    assert Output({"NO_COLOR": "1"}).animated
    assert not Output({"TERM": "dumb"}).animated


def test_no_pictures_in_a_pipe() -> None:
    assert not Output({}).animated


@pytest.mark.usefixtures("terminal")
def test_colours_do_not_shift_columns(capsys: pytest.CaptureFixture[str]) -> None:
    Output({}).table(("state", "name"), [("failed", "a"), ("ok", "b")])
    plain = capsys.readouterr().out.replace("\x1b[31m", "").replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert plain == "state   name\nfailed  a\nok      b\n"


def test_results_and_messages_do_not_mix(capsys: pytest.CaptureFixture[str]) -> None:
    out = Output({})
    out.line("result")
    out.note("message")
    out.raw(b"bytes\n")
    out.record({"a": 1})
    assert capsys.readouterr() == ('result\nbytes\n{"a": 1}\n', "message\n")


HOSTILE = "a\x1b[2J\x9b1A\nb\r\u202e"
SHOWN = "a\\u001b[2J\\u009b1A\\nb\\r\\u202e"


def test_a_name_can_not_move_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    out = Output({})
    out.table(("name", "state"), [(HOSTILE, "x")])
    out.line(f"\njob {HOSTILE}")
    out.note(f"\njob {HOSTILE}")
    assert capsys.readouterr() == (f"{'name':{len(SHOWN)}}  state\n{SHOWN}  x\n\njob {SHOWN}\n", f"\njob {SHOWN}\n")


def test_our_own_colours_reach_the_terminal_and_nothing_else_does(capsys: pytest.CaptureFixture[str]) -> None:
    out = Output({})
    out.coloured = True
    out.line(out.paint(f"job {HOSTILE}", "red"))
    assert capsys.readouterr().out == f"\x1b[31mjob {SHOWN}\x1b[0m\n"
