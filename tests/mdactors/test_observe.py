from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdactors.observe import Forward, Sink, configure_logging, get_logger, render_json, reset_logging

LOG = get_logger("tests.early")
"""Handed out before any configuration, as modules do."""


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio"):
        logging.getLogger(name).setLevel(logging.NOTSET)  # a server in another test sets its own
    yield
    reset_logging()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Closed(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_one_json_object_that_begins_with_what_matters() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    LOG.info("job_assigned", job=7, slot="cpu:0/1", note="two\nlines")
    (line,) = lines(stream)
    assert list(line) == ["time", "level", "logger", "event", "job", "slot", "note"]
    assert line["time"].endswith("Z")
    assert (line["level"], line["logger"], line["event"], line["job"]) == ("info", "tests.early", "job_assigned", 7)


def test_bytes_go_to_the_raw_stream_in_utf8() -> None:
    raw = io.BytesIO()
    configure_logging(stream=io.TextIOWrapper(raw, encoding="ascii"))
    LOG.info("size", box="10 Å")
    assert json.loads(raw.getvalue())["box"] == "10 Å"


def test_a_terminal_gets_words_not_json() -> None:
    stream = Terminal()
    configure_logging(stream=stream)
    LOG.warning("device_unhealthy", device="cpu:0")
    text = stream.getvalue()
    assert "device_unhealthy" in text
    assert "cpu:0" in text
    assert not text.startswith("{")


def test_a_terminal_gets_json_where_it_is_asked_for() -> None:
    stream = Terminal()
    configure_logging(stream=stream, json=True)
    LOG.info("x")
    assert lines(stream)[0]["event"] == "x"


def test_below_the_level_nothing_is_written() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream, level="warning")
    LOG.info("quiet")
    LOG.error("loud")
    assert [line["event"] for line in lines(stream)] == ["loud"]


def test_a_logger_follows_every_new_configuration() -> None:
    first, second = io.StringIO(), io.StringIO()
    configure_logging(stream=first, level="error")
    LOG.info("one")
    configure_logging(stream=second, level="debug")
    LOG.debug("two")
    assert lines(first) == []
    assert [line["event"] for line in lines(second)] == ["two"]


def test_bound_fields_are_in_every_line() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    bound = LOG.bind(actor="scheduler")
    bound.info("a")
    bound.info("b")
    assert [(line["actor"], line["logger"]) for line in lines(stream)] == [("scheduler", "tests.early")] * 2


def test_standard_output_is_refused() -> None:
    with pytest.raises(ValueError, match="standard output"):
        configure_logging(stream=sys.stdout)


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(ValueError, match="'loud' is not known"):
        configure_logging(stream=io.StringIO(), level="loud")


@pytest.mark.parametrize("json_lines", [True, False])
def test_nothing_ever_reaches_standard_output(capsys: pytest.CaptureFixture[str], json_lines: bool) -> None:
    LOG.error("before")
    configure_logging(json=json_lines)
    LOG.error("after")
    logging.getLogger("uvicorn.error").error("foreign")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert all(word in captured.err for word in ("before", "after", "foreign"))


# ---------------------------------------------------------------- trouble


def test_a_closed_stream_does_not_disturb_who_logs() -> None:
    configure_logging(stream=Closed())
    LOG.error("nobody hears this")


def test_a_value_that_is_no_json_is_shown_all_the_same() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    loop: list[object] = []
    loop.append(loop)
    LOG.info("odd", thing=object, loop=loop)
    LOG.info("next")
    odd, after = lines(stream)
    assert odd["event"].strip("'") == "odd"
    assert "object" in odd["thing"]
    assert after["event"] == "next"


def test_an_exception_is_one_field_of_one_line() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    try:
        int("boom")
    except ValueError:
        LOG.exception("actor_failed", actor="x")
    (line,) = lines(stream)
    assert "ValueError: invalid literal" in line["exception"]
    assert line["level"] == "error"


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.floats() | st.binary() | st.none()))
def test_whatever_is_logged_becomes_one_line(fields: dict[str, Any]) -> None:
    made = render_json(None, "info", {"event": "x"} | fields)
    assert b"\n" not in made
    assert isinstance(json.loads(made), dict)


def test_lone_surrogates_do_not_stop_the_log() -> None:
    made = render_json(None, "info", {"event": "file", "name": "a\udcffb"})
    assert "udcff" in json.loads(made)["name"]


# ---------------------------------------------------------------- the standard library's loggers


def test_foreign_loggers_speak_through_ours_once() -> None:
    stream = io.StringIO()
    foreign = logging.getLogger("uvicorn")
    foreign.addHandler(logging.StreamHandler(stream))
    configure_logging(stream=stream)
    configure_logging(stream=stream)
    logging.getLogger("uvicorn.error").info("Started server process [%d]", 7)
    logging.getLogger("asyncio").log(25, "between two levels")
    logging.getLogger("uvicorn.access").info("GET /metrics")
    found = [(line["logger"], line["level"], line["event"]) for line in lines(stream)]
    assert found == [
        ("uvicorn.error", "info", "Started server process [7]"),
        ("asyncio", "info", "between two levels"),
    ]


def test_a_foreign_message_that_does_not_fit_its_arguments_is_kept() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    record = logging.LogRecord("litestar", logging.WARNING, __file__, 1, "%d jobs", ("many",), None)
    Forward().handle(record)
    assert "many" in lines(stream)[0]["event"]


def test_a_foreign_exception_keeps_its_traceback() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    try:
        dict[str, int]()["route"]
    except KeyError:
        logging.getLogger("litestar").exception("request failed")
    assert "KeyError: 'route'" in lines(stream)[0]["exception"]


def test_resetting_leaves_no_handler_behind() -> None:
    before = list(logging.getLogger().handlers)
    configure_logging(stream=io.StringIO(), level="debug")
    assert logging.getLogger().handlers != before
    reset_logging()
    assert logging.getLogger().handlers == before


def test_the_sink_takes_text_and_bytes() -> None:
    stream = io.StringIO()
    sink = Sink(stream)
    sink.info("text")
    sink.error(b"bytes")
    assert stream.getvalue() == "text\nbytes\n"
