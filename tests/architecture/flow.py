"""Who hears what and who says what, read from the source itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from events.codec import BY_NAME
from tests.architecture.sources import ROOT, tree_of

PARTS: dict[str, tuple[str, ...]] = {
    "people (API, CLI)": ("mdactors/runtime/platform.py", "mdactors/runtime/admission.py"),
    "Prober": ("actors/prober.py", "mdactors/core/probing.py"),
    "Negotiator": ("actors/negotiator.py", "mdactors/core/negotiation.py", "mdactors/core/capabilities.py"),
    "Scheduler": (
        "actors/scheduler.py",
        "mdactors/core/scheduling.py",
        "mdactors/core/retry.py",
        "mdactors/core/capabilities.py",
    ),
    "Executor": ("actors/executor.py", "mdactors/core/execution.py", "mdactors/runtime/folders.py"),
    "HealthWatcher": ("actors/healthwatcher.py", "mdactors/core/health.py"),
    "Archivist": ("actors/archivist.py", "mdactors/core/archiving.py"),
    "Reconciler": ("actors/reconciler.py", "mdactors/core/reconciling.py"),
    "runtime": ("actors/building.py", "mdactors/runtime/supervisor.py"),
    "recovery": ("mdactors/runtime/regain.py",),
}
"""Part of the platform -> the files that decide for it."""


def said(part: str) -> list[str]:
    """Return the events that a part publishes: those whose classes it calls."""
    return _sorted(node.func for node in _nodes(part) if isinstance(node, ast.Call))


def heard(part: str) -> list[str]:
    """Return the events that a part folds: those that it matches, tests for, or registers a fold for."""
    return _sorted(_heard(part))


def _heard(part: str) -> Iterator[ast.AST]:
    for node in _nodes(part):
        match node:
            case ast.MatchClass(cls=cls):
                yield cls
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]):
                yield from ast.walk(kinds)
            case ast.FunctionDef(decorator_list=[*decorators], args=ast.arguments(args=arguments)) if decorators:
                yield from (argument.annotation for argument in arguments if argument.annotation)
                yield from (arg for each in decorators if isinstance(each, ast.Call) for arg in each.args)
            case _:
                pass


def _nodes(part: str) -> Iterator[ast.AST]:
    for name in PARTS[part]:
        yield from ast.walk(tree_of(Path(ROOT, name)))


def _sorted(nodes: Iterator[ast.AST]) -> list[str]:
    named = {node.id for node in nodes if isinstance(node, ast.Name)}
    return [name for name in BY_NAME if name in named]
