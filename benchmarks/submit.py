"""A batch of jobs handed to a running platform over its Unix socket until it is acknowledged as durable.

    python -m benchmarks.submit --jobs 1000

Nobody starts anything meanwhile: HyperQueue has no worker, and both slots of the platform are held by sleeping jobs.

- `hyperqueue`: as installed from PyPI, one job of N tasks, built and submitted; it is kept in memory. The base.
- `hyperqueue, N jobs`: the same as N jobs of one task.
- `mdactors, first batch`: N entries with the same input to a platform that has not seen it: encode, send, check every
  entry, copy the input, commit (synchronous=FULL), acknowledge, decode. `mdactors`: the next batch of the same.
- `run.py submit`: the command line, whole process; it waits for the verdicts as well.

Goal: acknowledged as durable no slower than HyperQueue's volatile submit.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from benchmarks.common import Report, Rounds, arguments, versions
from benchmarks.serving import PYTHON, Scratch, Serve, default_input, mdactors, run, run_inside

HYPERQUEUE = """
import json, os, sys, time
from hyperqueue import Job
from hyperqueue.cluster import LocalCluster
folder, count, single = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "single"
os.chdir(folder)
cluster = LocalCluster()
client = cluster.client()
words, null = ["/bin/true"], {"stdout": os.devnull, "stderr": os.devnull}
began = time.perf_counter()
if single:
    job = Job()
    for _ in range(count):
        job.program(words, **null)
    client.submit(job)
else:
    for _ in range(count):
        job = Job()
        job.program(words, **null)
        client.submit(job)
print(json.dumps({"seconds": time.perf_counter() - began}), flush=True)
os._exit(0)
"""

REST_SECONDS = 0.5
"""Between two batches: the platform is negotiating the one before."""


class Batch:
    """The same entries, submitted in several ways."""

    def __init__(self, scratch: Scratch, tpr: Path, count: int) -> None:
        self._scratch = scratch
        self._count = count
        self._entry = {"kind": "tpr", "tpr": str(tpr), "precision": "mixed", "nsteps": 100, "backend_pref": None}
        self._file = scratch.root / "jobs.json"
        self._file.write_text(json.dumps([self._entry] * count), encoding="ascii")
        self._holder = scratch.root / "holder.tpr"
        self._holder.write_bytes(b"whose job sleeps")
        self.later: list[float] = []
        self.commands: list[float] = []

    def hyperqueue(self, way: str) -> float:
        """Submit to HyperQueue; no worker, so nothing runs."""
        return float(run_inside(HYPERQUEUE, str(self._scratch.folder("hyperqueue")), str(self._count), way)["seconds"])

    def mdactors(self) -> float:
        """Submit to a fresh platform; note how long the next batch and one by the command line take there."""
        with Serve(self._scratch.folder("mdactors") / "state", stamping=True, hold=True) as serve:
            serve.submit(self._entry | {"tpr": str(self._holder)}, 2)
            first = serve.submit(self._entry, self._count)
            time.sleep(REST_SECONDS)
            self.later.append(serve.submit(self._entry, self._count))
            time.sleep(REST_SECONDS)
            self.commands.append(run(mdactors("submit", str(self._file), "--state", str(serve.state))))
            serve.calm()
        return first


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__, pairs=7)
    parser.add_argument("--jobs", type=int, default=1000, metavar="N", help="at most 1000, the entries of one request")
    parser.add_argument("--tpr", type=Path, default=default_input())
    options = parser.parse_args()
    report = Report(f"{options.jobs} jobs in one batch", options)
    with Scratch(options.scratch) as scratch:
        batch = Batch(scratch, options.tpr.resolve(), options.jobs)
        rounds = Rounds("hyperqueue", "s")
        first = "mdactors, first batch"
        contestants = {
            "hyperqueue": lambda: batch.hyperqueue("single"),
            "hyperqueue, N jobs": lambda: batch.hyperqueue("many"),
            first: batch.mdactors,
            "python -c pass": lambda: run([PYTHON, "-c", "pass"]),
        }
        rounds.turn(contestants, options.pairs, report.note)
        for name, seconds in {"mdactors": batch.later, "run.py submit": batch.commands}.items():
            rounds.values[name], rounds.foreign[name] = seconds, rounds.foreign[first]
        report.rounds("submit", rounds)
    report.close(versions("hyperqueue", "litestar", "uvicorn", "msgspec"))


if __name__ == "__main__":
    main()
