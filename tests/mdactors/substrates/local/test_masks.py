"""The CPU masks that the kernel reports."""

from __future__ import annotations

import os
import sys

import msgspec
import pytest

from mdactors.substrates.local.masks import masks
from tests.mdactors.substrates.local.kit import Bench, appears

CPUS = tuple(sorted(os.sched_getaffinity(0)))
THREADED = """
import os, threading, time
threading.Thread(target=lambda: (os.sched_setaffinity(0, {int(os.environ["CPU"])}), open("up", "w").write("up\\n"), time.sleep(60))).start()
"""


async def test_threads_that_rebind_themselves_are_seen(bench: Bench) -> None:
    if len(CPUS) < 2:
        pytest.skip("one CPU")
    environment = {"CPU": str(CPUS[1])}
    order = bench.order(sys.executable, "-c", THREADED, cpus=CPUS[:2], environment=environment)
    handle = await bench.launch(order)
    await appears(bench.path / "up")
    assert masks(handle) == (CPUS[:2], (CPUS[1],))


async def test_nothing_is_said_of_strangers(bench: Bench) -> None:
    handle = await bench.up()
    assert masks(msgspec.structs.replace(handle, start_ticks=1)) == ()
    assert masks(handle) == (CPUS,)
