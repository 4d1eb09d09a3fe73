"""A platform of our own for one question, where none is running."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio

from events.platform import Mode
from mdactors.cli.context import Context
from mdactors.config import Config, load_config
from mdactors.runtime.platform import Platform

CONFIG_NAME = "mdactors.toml"

T = TypeVar("T")


def config_of(context: Context, **overrides: Any) -> Config:  # noqa: ANN401 - settings of all kinds
    """Return the settings: `--config`, else the state folder's own file, else the defaults; `overrides` win.

    Raises:
        ConfigError: they can't be used.
    """
    given, usual = context.options.config, Path(context.state) / CONFIG_NAME
    path = Path(given) if given else usual if usual.is_file() else None
    return load_config(path, state=Path(context.state), overrides=overrides)


def live(main: Callable[..., Awaitable[T]], *arguments: Any) -> T:  # noqa: ANN401 - the function's own
    """Run an async function on uvloop, which makes half as many events again durable in the same time."""
    return anyio.run(main, *arguments, backend_options={"use_uvloop": True})


def ask(context: Context, question: Callable[[Platform], Awaitable[T]], *, mode: Mode = "settle") -> T:
    """Assemble a platform, ask it something, stop it, and return the answer; no waiting job is started."""

    async def main() -> T:
        async with context.assemble(config_of(context), mode=mode) as platform:
            return await question(platform)

    return live(main)
