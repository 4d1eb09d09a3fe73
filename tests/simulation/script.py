"""What a simulated job does, as data: it travels in the job's labels, and from there on the engine's command line."""

from __future__ import annotations

from typing import Literal

import msgspec

PROGRAM = "/simulated/engine"
LABEL = "script"

End = Literal["", "numerics", "visibility", "files", "unexplained", "killed", "vanish", "hang"]
"""What becomes of an attempt before its last step; empty: nothing."""

CODES: dict[End, int] = {"numerics": 2, "visibility": 3, "files": 4, "unexplained": 5, "killed": -9}
"""Exit code by which each end shows; `vanish` leaves none, `hang` does not end."""


class Fate(msgspec.Struct, frozen=True):
    """An attempt's end before its time."""

    end: End = ""
    step: int = 0
    """Where it happens; an attempt that begins behind it is spared."""


class Script(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job's length and speed, and what becomes of its attempts."""

    steps: int = 1000
    rate: float = 10.0
    """Steps per second."""
    every: int = 100
    """Steps between checkpoints."""
    startup: float = 1.0
    """Seconds before the first step."""
    stopping: float = 2.0
    """Seconds from the stop signal to the end, a checkpoint written."""
    grace: float = 10.0
    """Seconds that the engine asks for between the stop signal and the end by force."""
    deaf: bool = False
    """Takes no notice of the stop signal."""
    fates: tuple[Fate, ...] = ()
    """Of the first attempt, the second ..."""
    on_loss: Literal["carry on", "fail", "hang"] = "carry on"
    """When its device is lost."""
    prepares: bool = False
    """Needs a product that is made before the start, and that jobs with the same steps share."""
    refusals: int = 0
    """Launches that fail before one succeeds."""

    def fate(self, attempt: int) -> Fate:
        """Return what becomes of an attempt."""
        return self.fates[attempt - 1] if attempt <= len(self.fates) else Fate()


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """The simulated engine's command line."""

    script: Script
    slot: str = ""
    device: str = ""
    from_step: int = 0

    def argv(self) -> tuple[str, ...]:
        """Return it as words."""
        return (PROGRAM, msgspec.json.encode(self).decode())


def order_of(argv: tuple[str, ...]) -> Order:
    """Return what a command line says."""
    return msgspec.json.decode(argv[1], type=Order)
