"""What all benchmarks share: contestants measured in turn, the CPU share that others took, and how results are shown.

A figure here is the ratio of two things that were measured one right after the other in the same round; absolute
numbers of a shared machine say little. A round in which others took a visible share says little either.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import os
import platform
import resource
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[1]
TICKS = os.sysconf("SC_CLK_TCK")

QUIET_SHARE = 0.06
"""Others may use this much of the machine when a measurement begins."""
QUIET_SECONDS = 0.5

Facts = dict[str, Any]


def arguments(text: str | None, *, pairs: int) -> argparse.ArgumentParser:
    """Return a parser with the options that every benchmark has."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=pairs, metavar="N", help=f"rounds (default {pairs})")
    parser.add_argument("--json", action="store_true", help="write the result as one line of JSON")
    parser.add_argument("--quiet-wait", type=float, default=30.0, metavar="S", help="wait so long for a quiet machine")
    parser.add_argument("--scratch", type=Path, help="folder for everything that is written (default: a temporary one)")
    return parser


# ---------------------------------------------------------------- whose CPU


def machine_ticks() -> tuple[int, int]:
    """Return (busy, all) clock ticks of all CPUs since boot; time stolen by the host counts as busy."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = [int(word) for word in file.readline().split()[1:9]]
    return sum(fields) - fields[3] - fields[4], sum(fields)


def own_seconds() -> float:
    """Return CPU seconds of this process and of its children that were waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def process_seconds(pid: int) -> tuple[float, float]:
    """Return CPU seconds of a living process, and of its children that it has waited for."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / TICKS, sum(map(int, fields[13:15])) / TICKS


class Foreign:
    """The CPU share that others took while the block ran.

    What we start inside the block and wait for is ours; `pids` are living processes of ours besides. Engines are waited
    for by a platform that is stopped inside the block, so they are ours as well.
    """

    def __init__(self, pids: Iterable[int] = ()) -> None:
        self._pids = tuple(pids)
        self.share = 0.0

    def __enter__(self) -> Self:
        self._before = self._now()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        (busy, total, ours), (busy_then, total_then, ours_then) = self._now(), self._before
        foreign = busy - busy_then - (ours - ours_then) * TICKS
        self.share = max(0.0, foreign / max(1, total - total_then))

    def _now(self) -> tuple[int, int, float]:
        ours = own_seconds() + sum(sum(process_seconds(pid)) for pid in self._pids)
        return (*machine_ticks(), ours)


def wait_quiet(limit: float) -> float:
    """Wait until others use less than 6 % of the machine, for at most `limit` seconds; return the share seen last."""
    end = time.monotonic() + limit
    while True:
        with Foreign() as foreign:
            time.sleep(QUIET_SECONDS)
        if foreign.share < QUIET_SHARE or time.monotonic() > end:
            return foreign.share


# ---------------------------------------------------------------- in turn


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return median, least and greatest."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """Return the values below which half, 90 % and 99 % of them lie."""
    ordered = sorted(values)
    return {f"p{share}": ordered[min(len(ordered) - 1, len(ordered) * share // 100)] for share in (50, 90, 99)}


class Rounds:
    """Contestants measured in turn, and everybody's ratio to one of them, the base, in the same round."""

    def __init__(self, base: str, unit: str) -> None:
        self.base = base
        self.unit = unit
        self.values: dict[str, list[float]] = {}
        self.foreign: dict[str, list[float]] = {}

    def turn(self, contestants: Mapping[str, Callable[[], float]], pairs: int, note: Callable[[str], None]) -> None:
        """Measure all contestants, one after another, `pairs` times; every second round in reverse order."""
        for number in range(pairs):
            order = list(contestants.items())
            for name, measure in order if number % 2 == 0 else reversed(order):
                with Foreign() as foreign:
                    value = measure()
                self.add(name, value, foreign.share)
            note(f"round {number + 1}: " + "; ".join(self._shown(name, number) for name in contestants))

    def add(self, name: str, value: float, foreign: float) -> None:
        """Note one measurement of this round."""
        self.values.setdefault(name, []).append(value)
        self.foreign.setdefault(name, []).append(foreign)

    def _shown(self, name: str, number: int) -> str:
        value, share = self.values[name][number], self.foreign[name][number]
        ratio = "" if name == self.base else f", ratio {self.ratios(name)[number]:.3f}"
        return f"{name} {value:.4g} {self.unit}{ratio} (others {share:.0%})"

    def ratios(self, name: str, base: str = "") -> list[float]:
        """Return the ratio to the base, round by round."""
        return [mine / other for mine, other in zip(self.values[name], self.values[base or self.base], strict=True)]

    def result(self) -> Facts:
        """Return medians and ratios of all."""
        return {
            name: {
                self.unit: spread(values),
                "ratio": spread(self.ratios(name)),
                "ratios": self.ratios(name),
                "others_cpu_share": spread(self.foreign[name]),
            }
            for name, values in self.values.items()
        }

    def table(self) -> Iterator[str]:
        """Yield the lines of a table."""
        width = max(map(len, self.values))
        yield f"{'':{width}}  {self.unit:>10}  {'range':>17}  {'/ ' + self.base:>16}  {'range':>15}  others"
        for name, values in self.values.items():
            own, ratio, others = spread(values), spread(self.ratios(name)), statistics.median(self.foreign[name])
            yield (
                f"{name:{width}}  {own['median']:>10.4g}  {own['min']:>7.4g}..{own['max']:<8.4g}  "
                f"{ratio['median']:>16.3f}  {ratio['min']:>6.3f}..{ratio['max']:<7.3f}  {others:>6.1%}"
            )


# ---------------------------------------------------------------- shown


def versions(*packages: str) -> Facts:
    """Return what was measured with: machine, interpreter, SQLite, packages."""
    found: Facts = {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "kernel": platform.release(),
        "cpus": len(os.sched_getaffinity(0)),
        "revision": _revision(),
    }
    for package in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def _revision() -> str:
    done = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


class Report:
    """What a benchmark prints: progress to stderr, and at the end one table, or one line of JSON, to stdout."""

    def __init__(self, title: str, options: argparse.Namespace) -> None:
        self.title = title
        self._json = bool(options.json)
        self._facts: Facts = {"benchmark": title, "pairs": options.pairs}
        self._lines: list[str] = []
        busy = wait_quiet(options.quiet_wait)
        self._facts["others_before"] = busy
        self.note(f"others use {busy:.0%} of the machine" + ("" if busy < QUIET_SHARE else ": NOT QUIET"))

    def note(self, text: str) -> None:
        """Say how far it is."""
        print(text, file=sys.stderr, flush=True)

    def rounds(self, name: str, rounds: Rounds) -> None:
        """Add a table."""
        self._facts[name] = rounds.result()
        self._lines += ["", f"{name}:", *rounds.table()]

    def add(self, name: str, facts: object) -> None:
        """Add a figure or several."""
        self._facts[name] = facts
        self._lines += [f"{name}: {_plain(facts)}"]

    def close(self, found: Facts) -> None:
        """Print it all, versions last."""
        self._facts["versions"] = found
        if self._json:
            print(json.dumps(self._facts))
            return
        print(f"\n{self.title}", *self._lines, f"\nversions: {_plain(found)}", sep="\n")


def _plain(facts: object) -> str:
    if isinstance(facts, dict):
        return ", ".join(f"{name} {_plain(value)}" for name, value in facts.items())
    return f"{facts:.4g}" if isinstance(facts, float) else str(facts)
