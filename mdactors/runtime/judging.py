"""How an attempt ended, whatever its engine's adapter makes of the files."""

from __future__ import annotations

from pathlib import Path

import structlog

from events.outcome import Diagnosis
from mdactors.ports import Engine, Evidence, Verdict

log = structlog.get_logger("mdactors.judging")


def judged(engine: Engine | None, folder: Path, evidence: Evidence) -> Verdict:
    """Return the engine's verdict; where it can't give one, a failure that says why. Reads files."""
    if engine is None:
        return _unjudged("its engine is not installed here")
    try:
        return engine.judge(folder, evidence)
    except Exception as error:
        log.exception("an attempt could not be judged", folder=str(folder), attempt=evidence.attempt)
        return _unjudged(f"{type(error).__name__}: {error}")


def _unjudged(why: str) -> Verdict:
    summary = f"its files could not be judged: {why}"
    return Verdict(outcome="failed", diagnosis=Diagnosis(kind="unknown", code="unjudged", summary=summary))
