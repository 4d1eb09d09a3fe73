"""Derived inputs (a tpr made by grompp, a tpr with another length), made once and shared by all jobs that need them."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import anyio

from events.outcome import Diagnosis
from mdactors.errors import LaunchError
from mdactors.ports import Completed, Preparation, Run

T = TypeVar("T")

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

    async def make(self, preparation: Preparation) -> None:
        """See that the product exists.

        Raises:
            PreparationError: the program failed, or left nothing.
        """
        product = Path(preparation.product)
        if product.exists():
            return
        async with self._locks.setdefault(preparation.product, anyio.Lock()):
            if not product.exists():
                await self._make(preparation, product)

    async def _make(self, preparation: Preparation, product: Path) -> None:
        product.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".making-", dir=product.parent) as folder:
            completed = await self._run(preparation.argv, timeout=preparation.timeout, cwd=folder)
            made = Path(folder, preparation.makes)
            if completed.code != 0 or not made.exists():
                raise PreparationError(preparation, completed)
            made.chmod(0o444)
            made.rename(product)


def _diagnosis(preparation: Preparation, completed: Completed) -> Diagnosis:
    """Build and input errors need a person; a program that is gone or hangs may be well elsewhere."""
    program = " ".join(Path(word).name for word in preparation.argv[:2])
    text = completed.stderr.decode(errors="replace") + completed.stdout.decode(errors="replace")
    if completed.timed_out:
        summary = f"{program} did not end within {preparation.timeout:g} s"
        return Diagnosis(kind="substrate", code="preparation-hung", summary=summary, retry="other")
    if completed.code == 127:
        summary = f"{preparation.argv[0]} could not be started"
        return Diagnosis(kind="substrate", code="binary-vanished", summary=summary, evidence=_last(text), retry="other")
    summary = f"{program} refused the input (exit code {completed.code})"
    return Diagnosis(kind="build", code="preparation-failed", summary=summary, evidence=_error_of(text), retry="no")


def _error_of(text: str) -> str:
    """Return the paragraph that says why: after `Fatal error:` or `ERROR`, else the last lines."""
    for marker in ("Fatal error:", "ERROR ", "Error in user input:", "Inconsistency in user input:"):
        place = text.find(marker)
        if place >= 0:
            paragraph = text[place:].split("\n\n", maxsplit=1)[0].split("\nFor more information", maxsplit=1)[0]
            return " ".join(paragraph.split())[:500]
    return _last(text)


def _last(text: str) -> str:
    return " ".join(text.strip().splitlines()[-3:])[:500]
