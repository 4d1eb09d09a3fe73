"""Run the platform until SIGTERM or Ctrl-C; engines go on without it, and the next one adopts them."""

from __future__ import annotations

import gc
import os
import signal
from argparse import ArgumentParser
from typing import Any

import anyio

from mdactors.cli.context import Context
from mdactors.cli.own import config_of, live
from mdactors.cli.text import amount
from mdactors.config import Config
from mdactors.runtime.platform import Platform


def configure(parser: ArgumentParser) -> None:
    """Add this verb's options."""
    parser.add_argument("--listen", metavar="HOST:PORT", help="serve TCP as well, with a token")
    parser.add_argument(
        "--token-file", metavar="FILE", help="where that token is (made in the state folder if not given)"
    )
    parser.add_argument("--slots", type=int, metavar="N", help="jobs that run on the CPU at once")


def run(context: Context) -> int:
    """Serve."""
    return live(_serve, context, config_of(context, **overrides(context.options)))


def overrides(options: Any) -> dict[str, Any]:  # noqa: ANN401 - what argparse made
    """Return the settings that the command line lays over the file's."""
    chosen: dict[str, Any] = {}
    if getattr(options, "slots", None) is not None:
        chosen["slots"] = {"count": options.slots}
    if getattr(options, "listen", None):
        chosen["listen"] = options.listen
    if getattr(options, "token_file", None):
        chosen["token_file"] = os.path.abspath(options.token_file)
    return chosen


async def _serve(context: Context, config: Config) -> int:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with context.assemble(config, warm=True) as platform:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_announce, context, platform)
                async for number in signals:
                    context.out.note(f"{signal.Signals(number).name}: stopping")
                    break
                tasks.cancel_scope.cancel()
            left = len(platform.jobs.active)
    if left:
        context.out.note(f"{amount(left, 'job')} under way: engines go on, the next `serve` adopts them")
    return 0


async def _announce(context: Context, platform: Platform) -> None:
    """Say when it answers: a line for people, or for the script that waits for it."""
    await platform.probed()
    await platform.answers.wait()
    gc.freeze()  # modules and what was replayed are never garbage: a full collection of them stops the loop for 50 ms
    slots = len(platform.matrix.slots)
    if context.json:
        facts = {"version": platform.version, "node": platform.node, "state": str(platform.state), "slots": slots}
        context.out.record(facts)
    context.out.note(
        f"mdactors {platform.version} on {platform.node}: {amount(slots, 'slot')}, state folder {platform.state}"
    )
