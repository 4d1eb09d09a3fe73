"""The log: structured lines on standard error, pretty for people, JSON for machines; never on standard output.

One chain for everything: the platform's own loggers and, through the standard library's `logging`, those of uvicorn,
litestar and asyncio. A line that can't be written is dropped, a value that can't be encoded is shown by its `repr`:
logging never raises into the code that logs. Until it is configured, warnings and worse are shown.
"""

from __future__ import annotations

import logging
import sys
from typing import TextIO, cast

import msgspec
import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

FOREIGN = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi", "litestar", "asyncio", "anyio")
"""Loggers of the standard library that may bring handlers of their own; they are made to speak through ours."""

QUIET = ("uvicorn.access", "aioprometheus", "aiosqlite")
"""Loggers of which only warnings are of interest: a line for each request or statement would drown the rest."""

FIRST = ("time", "level", "logger", "event")
"""Fields that a JSON line begins with."""

_encoder = msgspec.json.Encoder(enc_hook=repr)


class Sink:
    """Where finished lines go: one write a line, and silence where that fails (a closed terminal, a full disk).

    Args:
        stream: None: whatever `sys.stderr` is at the moment of writing.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    def msg(self, line: bytes | str) -> None:
        """Write one line."""
        stream = self._stream or sys.stderr
        try:
            if isinstance(line, bytes) and (raw := getattr(stream, "buffer", None)) is not None:
                raw.write(line + b"\n")
            else:
                stream.write(f"{line.decode() if isinstance(line, bytes) else line}\n")
            stream.flush()
        except (OSError, ValueError):
            return

    debug = info = warning = warn = error = critical = exception = log = fatal = msg


def name_logger(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Give the logger's name the field `logger`; structlog keeps that word for itself where a logger is made."""
    if "logger_name" in event:
        event["logger"] = event.pop("logger_name")
    return event


def render_json(logger: WrappedLogger, method: str, event: EventDict) -> bytes:
    """Return a line of JSON: time, level, logger and event first, then what the caller gave."""
    ordered = {name: event.pop(name) for name in FIRST if name in event} | dict(event)
    try:
        return _encoder.encode(ordered)
    except (TypeError, ValueError, RecursionError):
        return _encoder.encode({ascii(name).strip("'"): ascii(value) for name, value in ordered.items()})


def processors(*, json: bool, colors: bool) -> list[Processor]:
    """Return the chain through which a log entry becomes a line."""
    common: list[Processor] = [
        name_logger,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
    ]
    if json:
        return [*common, structlog.processors.format_exc_info, render_json]
    console = structlog.dev.ConsoleRenderer(
        colors=colors, timestamp_key="time", exception_formatter=structlog.dev.plain_traceback
    )
    return [*common, console]


class Forward(logging.Handler):
    """Hands what arrives by the standard library's `logging` to the one chain."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log the record under its own name and level."""
        try:
            message = record.getMessage()
        except (TypeError, ValueError):
            message = f"{record.msg} {record.args}"
        # structlog knows the five usual levels; anything between counts as the one below it.
        level = max(record.levelno // 10 * 10, logging.DEBUG)
        get_logger(record.name).log(min(level, logging.CRITICAL), message, exc_info=record.exc_info or None)


def configure_logging(*, stream: TextIO | None = None, json: bool | None = None, level: str = "info") -> None:
    """Set up the log of this process; may be called again, also for loggers that were handed out before.

    Args:
        stream: Where lines go; None: standard error.
        json: One JSON object a line; None: exactly where the stream is no terminal.
        level: `debug`, `info`, `warning`, `error` or `critical`; less than that is not even rendered.

    Raises:
        ValueError: the stream is standard output, which belongs to results; or the level has no such name.
    """
    if stream is not None and stream is sys.stdout:
        raise ValueError("the log never goes to standard output: commands print results there")
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise ValueError(f"log level {level!r} is not known; use debug, info, warning, error or critical")
    terminal = (stream or sys.stderr).isatty()
    _configure(Sink(stream), json=not terminal if json is None else json, colors=terminal, level=number)
    _route_standard_library(number)


def reset_logging() -> None:
    """Return to the state before any configuration: warnings and worse, plain, on whatever standard error is."""
    _configure(Sink(), json=False, colors=False, level=logging.WARNING)
    _leave_standard_library()


def _configure(sink: Sink, *, json: bool, colors: bool, level: int) -> None:
    structlog.configure(
        processors=processors(json=json, colors=colors),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: sink,
        # A cached logger would keep the old configuration for ever; looking it up costs three microseconds.
        cache_logger_on_first_use=False,
    )


def _route_standard_library(level: int) -> None:
    _leave_standard_library()
    root = logging.getLogger()
    root.addHandler(Forward())
    root.setLevel(level)
    for name in FOREIGN:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    for name in QUIET:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))


def _leave_standard_library() -> None:
    root = logging.getLogger()
    for handler in [each for each in root.handlers if isinstance(each, Forward)]:
        root.removeHandler(handler)
    root.setLevel(logging.WARNING)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.NOTSET)


def get_logger(name: str) -> FilteringBoundLogger:
    """Return a logger; `name` becomes the field `logger` of its lines.

    Hold it in a module; `bind` it to more fields only after the log is configured, since what is bound stays as it is.
    """
    return cast("FilteringBoundLogger", structlog.get_logger(logger_name=name))


reset_logging()
