"""What every verb gets: its options, the state folder, a client, and where to write."""

from __future__ import annotations

import os
from collections.abc import Mapping

from mdactors.cli.client import Client
from mdactors.cli.output import Output

TYPE_CHECKING = False  # known to type checkers; the typing module would cost a tenth of a whole `status`
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from mdactors.runtime.platform import Platform

    Assemble = Callable[..., AbstractAsyncContextManager[Platform]]
    """`assemble(config, mode=...)` builds a platform of our own. Entering it: recovered, actors at work. Leaving it: stopped in
    good order, while engines go on."""

PROGRAM = "python run.py"
"""How the program is called, in hints."""


class Context:
    """One run of one verb."""

    def __init__(self, options: Namespace, environ: Mapping[str, str], assemble: Assemble) -> None:
        self.options = options
        self.state = state_folder(options.state, environ)
        self.client = Client(self.state)
        self.out = Output(environ)
        self.assemble = assemble

    @property
    def json(self) -> bool:
        """The result is wanted for a script."""
        return bool(self.options.json)


def state_folder(given: str | None, environ: Mapping[str, str]) -> str:
    """Return the folder that holds all that a platform remembers: as given, by MDACTORS_STATE, or the user's own."""
    if folder := given or environ.get("MDACTORS_STATE"):
        return os.path.abspath(os.path.expanduser(folder))
    base = environ.get("XDG_STATE_HOME") or os.path.join(environ.get("HOME") or "~", ".local", "state")
    return os.path.join(os.path.expanduser(base), "mdactors")


def common_options(parser: ArgumentParser) -> None:
    """Add what all verbs understand."""
    group = parser.add_argument_group("common options")
    group.add_argument("--state", metavar="DIR", help="state folder (MDACTORS_STATE, else ~/.local/state/mdactors)")
    group.add_argument("--config", metavar="FILE", help="settings (else mdactors.toml in the state folder)")
    group.add_argument("--json", action="store_true", help="write the result as JSON")
