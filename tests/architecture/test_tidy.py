"""Taste, executable: lengths, leftovers, and a test for every file."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, body_lines, functions, source_files

BODY_MAX = 70
FILE_MAX = 600

LEFTOVERS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|NotImplementedError")
BARE_IGNORE = re.compile(r"#\s*(type:\s*ignore(?!\[)|noqa(?!:))")

NO_TEST_OF_THEIR_OWN = {
    "mdactors/engines/openmm/probe_script.py": "a child process; run by test_probe.py",
    "mdactors/engines/openmm/worker.py": "a child process; run by tests/e2e/test_openmm_engine.py",
}


@pytest.mark.parametrize("path", source_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_file_and_its_functions_are_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= FILE_MAX
    long = {function.name: body_lines(function) for function in functions(path) if body_lines(function) > BODY_MAX}
    assert not long


def test_functions_of_the_house_are_mostly_a_few_lines() -> None:
    sizes = sorted(body_lines(function) for path in source_files() for function in functions(path))
    assert statistics.median(sizes) <= 8
    assert sizes[int(0.9 * len(sizes))] <= 30


@pytest.mark.parametrize("path", source_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_is_left_undone_or_silenced_without_a_code(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [line.strip() for line in lines if LEFTOVERS.search(line) or BARE_IGNORE.search(line)]
    assert not found


def test_every_source_file_has_its_test_file() -> None:
    missing = [
        str(path.relative_to(ROOT))
        for path in source_files()
        if not (ROOT / "tests" / path.relative_to(ROOT).parent / f"test_{path.name}").exists()
        and str(path.relative_to(ROOT)) not in NO_TEST_OF_THEIR_OWN
    ]
    assert not missing


def test_every_mirrored_test_file_has_its_source_file() -> None:
    orphans = [
        str(path.relative_to(ROOT))
        for package in ("events", "mdactors", "actors")
        for path in (ROOT / "tests" / package).rglob("test_*.py")
        if not (ROOT / path.relative_to(ROOT / "tests").parent / path.name.removeprefix("test_")).exists()
    ]
    assert not orphans


def test_packages_hold_one_docstring_and_nothing_to_import_in_circles() -> None:
    for package in ("events", "mdactors", "actors"):
        for path in (ROOT / package).rglob("__init__.py"):
            if path != ROOT / "mdactors" / "__init__.py":  # which also holds the version
                assert path.read_text(encoding="utf-8").count('"""') == 2, path
                assert "import" not in path.read_text(encoding="utf-8"), path


def test_top_level_holds_what_it_should_and_no_more() -> None:
    allowed = {
        *("mdactors", "actors", "events", "tests", "run.py", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"),
        *("CONTRIBUTING.md", "Makefile", "docs", "benchmarks", "examples", "scripts", ".ci", ".gitignore", ".git"),
    }
    ignored = {
        ".venv",
        "demo-state",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
        ".hypothesis",
        ".import_linter_cache",
    }
    found = {path.name for path in ROOT.iterdir()}
    assert found - ignored - allowed == {name for name in found if name.endswith((".egg-info",))} | (
        found & {"__pycache__"}
    )
    assert allowed - {".git"} <= found
