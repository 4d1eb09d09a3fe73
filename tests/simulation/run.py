"""Long campaigns: `python -m tests.simulation.run --seeds 10000`, or one seed with its whole story: `--trace SEED`."""

from __future__ import annotations

import argparse
import hashlib
import sys
import time

from tests.simulation.seeds import scenario_of
from tests.simulation.world import simulate

HERE = "python -m tests.simulation.run"


def main(argv: list[str]) -> int:
    """Run what is asked for; return 0 where nothing was found."""
    parser = argparse.ArgumentParser(prog=HERE, description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, metavar="N", help="how many seeds (default 100)")
    parser.add_argument("--first", type=int, default=0, metavar="S", help="the first of them (default 0)")
    parser.add_argument("--trace", type=int, metavar="SEED", help="run one seed and print all that happens")
    parser.add_argument("--digest", action="store_true", help="print the sha256 of all logs at the end")
    asked = parser.parse_args(argv)
    if asked.trace is not None:
        return trace(asked.trace)
    return campaign(range(asked.first, asked.first + asked.seeds), digest=asked.digest)


def trace(seed: int) -> int:
    """Run one seed; print its scenario, everything that happens, its log, and what is wrong."""
    scenario = scenario_of(seed)
    seen = simulate(scenario, trace=True)
    print(scenario, *seen.trace, "=== the log", seen.log, sep="\n")
    print(f"=== seed {seed}: {len(seen.problems)} problems", *seen.problems, sep="\n")
    return bool(seen.problems)


def campaign(seeds: range, *, digest: bool) -> int:
    """Run many seeds; print those that fail as they fail, with what is wrong and how to see it again."""
    began, failed, logs, lives = time.monotonic(), 0, hashlib.sha256(), 0
    for count, seed in enumerate(seeds, 1):
        seen = simulate(scenario_of(seed))
        logs.update(seen.log.encode())
        lives += len(seen.lives)
        if seen.problems:
            failed += 1
            print(f"\nseed {seed}; again: {HERE} --trace {seed}", *seen.problems, sep="\n  ")
        if sys.stderr.isatty() or count % 100 == 0 or count == len(seeds):
            pace = count / max(time.monotonic() - began, 1e-9)
            text = f"{count}/{len(seeds)} seeds, {lives} lives, {failed} failed, {pace:.0f} seeds/s"
            print(text, end="\r" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True)
    if digest:
        print(logs.hexdigest())
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
