"""Say what somebody knows about a device; what runs on a sick one goes on elsewhere."""

from __future__ import annotations

from mdactors.cli.client import quote
from mdactors.cli.context import PROGRAM
from mdactors.cli.whoami import login_name
from mdactors.errors import NoPlatformError

TYPE_CHECKING = False  # known to type checkers; the typing module would cost a tenth of a whole verb
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Any

    from events.devices import Condition
    from mdactors.cli.context import Context
    from mdactors.runtime.platform import Platform

CONDITIONS: dict[str, Condition] = {
    "device-unhealthy": "unhealthy",
    "device-recovered": "recovered",
    "device-lost": "lost",
}


def out_of_service(device: str, why: str, state: object) -> str:
    """Return what people have to know of a device that was taken out: that it was, why, and what brings it back."""
    remedy = f"{PROGRAM} --state {state} inject device-recovered {device}"
    return f"{device} takes no work: {why}; when it is well again: {remedy}"


def configure(parser: ArgumentParser) -> None:
    """Add this verb's options."""
    parser.add_argument("what", choices=CONDITIONS)
    parser.add_argument("device", metavar="DEVICE", help="a device's id, as `caps` shows it (cpu:0)")
    parser.add_argument("--reason", default="injected from the command line", help="why, for the record")


def run(context: Context) -> int:
    """Tell the platform."""
    options = context.options
    condition = CONDITIONS[options.what]
    answer = _told(context, condition) or _noted_by_ourselves(context, condition)
    if context.json:
        context.out.document(answer)
    else:
        context.out.line(f"{options.device}: reported as {condition}")
    return 0


def _told(context: Context, condition: Condition) -> Any:  # noqa: ANN401 - a JSON document
    body = {"condition": condition, "reason": context.options.reason, "source": login_name()}
    try:
        return context.client.post(f"/v1/devices/{quote(context.options.device)}/report", body)
    except NoPlatformError:
        return None


def _noted_by_ourselves(context: Context, condition: Condition) -> Any:  # noqa: ANN401 - a JSON document
    """Put it on record where no platform is running: the next one begins with it."""
    from mdactors.cli.own import ask  # noqa: PLC0415 - only where a platform of our own is needed
    from mdactors.cli.stopped import Stopped  # noqa: PLC0415

    Stopped(context.state)  # where there never was a platform, there is no device to speak of

    async def tell(platform: Platform) -> dict[str, bool]:
        options = context.options
        await platform.report_device(options.device, condition, reason=options.reason, source=login_name())
        return {"ok": True}

    return ask(context, tell)
