"""The OpenMM worker: one process an attempt, run by its path in the job's folder, imported by nobody.

    python -P .../worker.py attempts/N/worker.json

Exit statuses are listed in `job`. SIGTERM and SIGINT end it in good order: the block of steps is finished,
checkpoint and portable State are written, status 20.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from pathlib import Path

EARLY_STOP = 20
"""Asked to stop before anything was loaded: there is nothing to save."""


def start(argv: list[str]) -> int:
    """Take signals first, because loading OpenMM and a big system takes a while; then run."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(EARLY_STOP))
    root = str(Path(__file__).resolve().parents[3])
    if root not in sys.path:
        sys.path.insert(0, root)
    running = import_module("mdactors.engines.openmm.running")
    stop = running.Stop()
    stop.listen()
    return int(running.main(argv, stop))


if __name__ == "__main__":
    status = start(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # After a blow-up OpenMM's own memory may be damaged: its destructors would turn a clear status into a crash.
    os._exit(status)
