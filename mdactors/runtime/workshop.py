"""Derived inputs (a tpr made by grompp, a tpr with another length), made once and shared by all jobs that need them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

import anyio
import msgspec

from events.outcome import Diagnosis
from mdactors.errors import LaunchError
from mdactors.ports import Completed, Preparation, Run

T = TypeVar("T")

WARNING = re.compile(r"^WARNING \d+[^\n]*:\n((?:[ \t]+\S[^\n]*\n?)+)", re.MULTILINE)
"""A warning of a GROMACS tool: a head with its number and place, then indented lines."""
EVIDENCE_MAX = 500
"""Characters."""

Offload = Callable[[Callable[[], T]], Awaitable[T]]
"""Runs blocking code: in a thread, or (in simulated time) on the spot."""


async def in_thread(work: Callable[[], T]) -> T:
    """Run blocking code in a worker thread."""
    return await anyio.to_thread.run_sync(work)


class PreparationError(LaunchError):
    """A preparation failed: the message is what the program said."""

    def __init__(self, preparation: Preparation, completed: Completed) -> None:
        self.diagnosis = _diagnosis(preparation, completed)
        super().__init__(f"{self.diagnosis.summary}: {self.diagnosis.evidence}")


class Workshop:
    """Makes products. A product appears complete or not at all, and never twice at the same time."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._locks: dict[str, anyio.Lock] = {}

    async def make(self, preparation: Preparation) -> tuple[str, ...]:
        """See that the product exists; return the warnings that came with it.

        Raises:
            PreparationError: the program failed, left nothing, or warned of more than may be passed over.
        """
        product = Path(preparation.product)
        async with self._locks.setdefault(preparation.product, anyio.Lock()):
            if not product.exists():
                await self._make(preparation, product)
        return _kept_warnings(product)

    async def _make(self, preparation: Preparation, product: Path) -> None:
        product.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".making-", dir=product.parent) as folder:
            completed = await self._run(preparation.argv, timeout=preparation.timeout, cwd=folder)
            made = Path(folder, preparation.makes)
            warnings = _warnings(completed)
            if completed.code != 0 or not made.exists() or _warns_too_much(preparation, warnings):
                raise PreparationError(preparation, completed)
            if warnings:
                told = Path(folder, "warnings")
                told.write_bytes(msgspec.json.encode(warnings))
                told.rename(_beside(product))  # before the product: what is there has its warnings
            made.chmod(0o444)
            made.rename(product)


def _beside(product: Path) -> Path:
    return product.with_name(f"{product.name}.warnings")


def _kept_warnings(product: Path) -> tuple[str, ...]:
    try:
        return msgspec.json.decode(_beside(product).read_bytes(), type=tuple[str, ...])
    except FileNotFoundError:
        return ()


def _warnings(completed: Completed) -> list[str]:
    """Return what the program warns of, a line for each."""
    found = WARNING.findall(_said(completed))
    return [" ".join(text.split()) for text in found]


def _warns_too_much(preparation: Preparation, warnings: Sequence[str]) -> bool:
    if preparation.warnings_max is None:
        return False
    others = [text for text in warnings if not text.startswith(preparation.tolerates)]
    return len(others) > preparation.warnings_max


def _said(completed: Completed) -> str:
    return completed.stderr.decode(errors="replace") + completed.stdout.decode(errors="replace")


def _diagnosis(preparation: Preparation, completed: Completed) -> Diagnosis:
    """Build and input errors need a person; a program that is gone or hangs may be well elsewhere."""
    program = preparation.what
    text = _said(completed)
    if completed.timed_out:
        summary = f"{program} did not end within {preparation.timeout:g} s"
        return Diagnosis(kind="substrate", code="preparation-hung", summary=summary, retry="other")
    if completed.code == 127:
        summary = f"{preparation.argv[0]} could not be started"
        return Diagnosis(kind="substrate", code="binary-vanished", summary=summary, evidence=_last(text), retry="other")
    warned = f"warned of what nobody has said to be harmless ({len(_warnings(completed))} in all)"
    summary = f"{program} {f'refused the input (exit code {completed.code})' if completed.code else warned}"
    return Diagnosis(
        kind="build",
        code="preparation-failed",
        summary=summary,
        evidence=_error_of(text),
        retry="no",
        remedy=preparation.remedy,
    )


def _error_of(text: str) -> str:
    """Return what was wrong: the first error; the warnings, where there are too many; else the last lines."""
    for marker in ("ERROR ", "Error in user input:", "Inconsistency in user input:"):
        place = text.find(marker)
        if place >= 0:
            return _shortened(text[place:].split("\n\n", maxsplit=1)[0].split("\nFor more information", maxsplit=1)[0])
    warnings = WARNING.findall(text)
    if warnings and ("Too many warnings" in text or "Fatal error:" not in text):
        return _shortened("warning: " + " warning: ".join(warnings))
    place = text.find("Fatal error:")
    return _shortened(text[place:].split("\nFor more information", maxsplit=1)[0]) if place >= 0 else _last(text)


def _shortened(text: str) -> str:
    return " ".join(text.split())[:EVIDENCE_MAX]


def _last(text: str) -> str:
    return " ".join(text.strip().splitlines()[-3:])[:EVIDENCE_MAX]
