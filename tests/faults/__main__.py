"""`python -m tests.faults [--only GLOB] [--json] [--write]`: try the faults, print a table; write `docs/crash-matrix.md`."""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import time
import traceback
from collections.abc import Sequence
from typing import NamedTuple

from tests.e2e.kit import ROOT
from tests.faults.cases import CASES, Case
from tests.faults.ground import SkippedError, tried

PAGE = ROOT / "docs" / "crash-matrix.md"
HEAD = """# What was broken on purpose

Real processes, real engines, real files: `python -m tests.faults --write` makes this page. Where nothing else is said a job for
GROMACS and one for OpenMM run. `held` means, beyond the column before it: no acknowledged job is lost; every job is completed; each
attempt had exactly one engine process, recorded as it ended, and began after the one before it had ended; no engine was killed by the platform; the
ledger has each attempt once; nothing is left running; `check` finds the log whole, and `replay --verify` finds every decision again.
The simulation (`python -m tests.simulation.run`) does the same at every commit, dispatch and call, with virtual time.

"""
COLUMNS = ("case", "what was done", "what must hold", "result", "seconds")


class Row(NamedTuple):
    """What came of one case."""

    case: Case
    result: str
    seconds: float

    @property
    def good(self) -> bool:
        return not self.result.startswith("FAILED")

    def cells(self) -> tuple[str, ...]:
        return (self.case.name, self.case.done, self.case.must, self.result, f"{self.seconds:.1f}")


def attempt(one: Case) -> Row:
    """Try a case."""
    began = time.monotonic()
    try:
        tried(one.run)
        result = "held"
    except SkippedError as why:
        result = f"skipped: {why}"
    except Exception as error:  # noqa: BLE001 - whatever it is, the other cases are tried all the same
        traceback.print_exc()
        result = f"FAILED: {str(error).partition(chr(10))[0]}"
    return Row(one, result, time.monotonic() - began)


def page(rows: Sequence[Row]) -> str:
    """Return the page; why something failed, with the paths of this machine, is for the terminal."""
    told = [row if row.good else row._replace(result="FAILED") for row in rows]
    lines = [COLUMNS, tuple("---" for _ in COLUMNS), *(row.cells() for row in told)]
    return HEAD + "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def main(argv: Sequence[str]) -> int:
    """Try what is asked for; return 0 where everything held."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--only", default="*", metavar="GLOB", help="cases by name")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    asked = parser.parse_args(argv)
    if asked.write and asked.only != "*":
        parser.error("the page is about all cases: --write without --only")
    rows = []
    for one in CASES:
        if fnmatch.fnmatch(one.name, asked.only):
            rows.append(attempt(one))
            if not asked.json:
                print(f"{one.name:36} {rows[-1].seconds:6.1f} s  {rows[-1].result}", flush=True)
    if asked.json:
        print(json.dumps([dict(zip(COLUMNS, row.cells(), strict=True)) for row in rows], indent=1))
    if asked.write:
        PAGE.write_text(page(rows), encoding="utf-8")
    return 0 if rows and all(row.good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
