"""Numbers and times as people read them. Pure."""

from __future__ import annotations

import json
import time


def duration(seconds: float | None) -> str:
    """Return a time span in its two largest units: `3 h 12 min`; empty where unknown."""
    if seconds is None:
        return ""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def moment(epoch: float | None) -> str:
    """Return a time in the local zone; empty where unknown."""
    return "" if epoch is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(epoch))


def rate(ns_per_day: float | None) -> str:
    """Return a speed with three or four significant digits; empty where unknown."""
    if ns_per_day is None:
        return ""
    return (
        f"{ns_per_day:.0f}" if ns_per_day >= 1000 else f"{ns_per_day:.4g}" if ns_per_day >= 100 else f"{ns_per_day:.3g}"
    )


def steps(step: int | None, asked: int | None) -> str:
    """Return how far a job is: `1250/5000`; empty where unknown."""
    if step is None:
        return ""
    return f"{step}/{asked}" if asked else str(step)


def count(number: int) -> str:
    """Return a number in few characters: `9999`, `12.5k`, `400k`, `2.5M`."""
    if number < 10_000:
        return str(number)
    size, unit = (1_000, "k") if number < 1_000_000 else (1_000_000, "M")
    return f"{number / size:.4g}{unit}"


def clock(seconds: float | None) -> str:
    """Return a time span in few characters: `1:05`, `3:12:05`; empty where unknown."""
    if seconds is None:
        return ""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def share(step: int | None, asked: int | None) -> str:
    """Return how far a job is in percent; empty where unknown."""
    return f"{100 * step // asked} %" if step is not None and asked else ""


def build(engine: str, backend: str, precision: str) -> str:
    """Return what runs a job in one word: `gromacs/CPU/mixed`."""
    return "/".join(part for part in (engine, backend, precision) if part)


def amount(number: int, noun: str) -> str:
    """Return a number with its noun: `1 job`, `2 jobs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def printable(text: str) -> str:
    """Return text without what moves a terminal's cursor, or hides in it: such characters as JSON escapes them."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)
