"""Engines by entry point: ours and third parties' are found the same way."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

import structlog

from mdactors.engines.gromacs.engine import GromacsEngine
from mdactors.engines.openmm.engine import OpenMMEngine
from mdactors.ports import Engine

GROUP = "mdactors.engines"

log = structlog.get_logger("mdactors.engines")


def find_engines(points: Iterable[EntryPoint] | None = None) -> tuple[Engine, ...]:
    """Return an instance of every installed engine, our own first.

    Ours need no installation: a checkout runs as it stands. Who comes first keeps its name; one that can't be loaded is
    told in the log and left out.
    """
    engines: dict[str, Engine] = {engine.name: engine for engine in (GromacsEngine(), OpenMMEngine())}
    for point in entry_points(group=GROUP) if points is None else points:
        if point.name not in engines and (engine := _load(point)) is not None:
            engines.setdefault(engine.name, engine)
    return tuple(engines.values())


def _load(point: EntryPoint) -> Engine | None:
    try:
        made: Engine = point.load()()
    except Exception:
        log.exception("an engine could not be loaded", engine=point.name, entry_point=point.value)
        return None
    return made
