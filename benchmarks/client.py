"""The command line as a client, whole process, and the platform at rest.

    python -m benchmarks.client

- `python -c pass`: everybody's base; `import litestar`: what a client that drags in the server would pay at least.
- `status, idle` and `status, 10000 jobs`: `python run.py status` beside a platform without jobs and with many queued.
- `status, stopped`: none is running, the answer is read from the files of one with few records.

Goals: status at most 6 x bare python and 0.3 x a client with litestar, also with 10,000 jobs; the idle platform under
80 MB, its CPU under 1 ms a second. Memory is that of a `serve` with all engines, after a status; then the same with the
queued jobs and the stamping engine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.common import TICKS, Facts, Report, Rounds, arguments, process_seconds, versions
from benchmarks.serving import PYTHON, Scratch, Serve, mdactors, run

IDLE_SECONDS = 10.0
PART = 1000


def at_rest(serve: Serve, seconds: float) -> Facts:
    """Watch a platform that has nothing to do; return memory, CPU (ms a second, in steps of a tick) and wake-ups."""
    time.sleep(1.0)
    before, wakes = sum(process_seconds(serve.pid)), switches(serve.pid)
    time.sleep(seconds)
    used = sum(process_seconds(serve.pid)) - before
    return {
        **serve.memory(),
        "cpu_ms_per_s": used / seconds * 1e3,
        "cpu_grain_ms_per_s": 1e3 / TICKS / seconds,
        "wakeups_per_s": (switches(serve.pid) - wakes) / seconds,
        "threads": len(os.listdir(f"/proc/{serve.pid}/task")),
    }


def switches(pid: int) -> int:
    """Return how often the threads of a process have gone to sleep by themselves."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        status = Path(f"/proc/{pid}/task/{task}/status").read_text(encoding="ascii")
        total += int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])
    return total


@contextmanager
def crowded(scratch: Scratch, count: int) -> Iterator[Serve]:
    """Serve a state with `count` jobs: two sleep in their slots, the others wait."""
    folder = scratch.folder("crowded")
    tpr = folder / "x.tpr"
    tpr.write_bytes(b"nothing that anybody reads")
    with Serve(folder / "state", stamping=True, hold=True) as serve:
        for start in range(0, count, PART):
            serve.submit({"kind": "tpr", "tpr": str(tpr)}, min(PART, count - start))
        yield serve
        serve.calm()


def status(state: Path) -> Callable[[], float]:
    """Return what runs `status` on a state folder; the median of three runs."""
    words = mdactors("status", "--state", str(state))
    return lambda: sorted(run(words) for _ in range(3))[1]


def python(code: str) -> Callable[[], float]:
    """Return what runs a line of Python; the median of three runs."""
    return lambda: sorted(run([PYTHON, "-c", code]) for _ in range(3))[1]


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__, pairs=7)
    parser.add_argument("--jobs", type=int, default=10_000, metavar="N")
    options = parser.parse_args()
    report = Report("command line and platform at rest", options)
    with Scratch(options.scratch) as scratch:
        idle, stopped = scratch.folder("idle") / "state", scratch.folder("stopped") / "state"
        with Serve(stopped):
            pass
        with Serve(idle) as serve, crowded(scratch, options.jobs) as crowd:
            if crowd.client.get("/v1/status")["total"] != options.jobs:
                raise RuntimeError("not all jobs are there")
            rounds = Rounds("python -c pass", "s")
            contestants = {
                "python -c pass": python("pass"),
                "status, idle": status(idle),
                f"status, {options.jobs} jobs": status(crowd.state),
                "status, stopped": status(stopped),
                "import litestar": python("import litestar"),
            }
            rounds.turn(contestants, options.pairs, report.note)
            report.rounds("whole process", rounds)
            report.add("idle platform, all engines", at_rest(serve, IDLE_SECONDS))
            report.add(f"platform with {options.jobs} queued jobs, stamping engine", at_rest(crowd, IDLE_SECONDS))
    report.close(versions("litestar", "msgspec"))


if __name__ == "__main__":
    main()
