"""Say what somebody knows about a device; what runs on a sick one goes on elsewhere."""

from __future__ import annotations

from mdactors.cli.client import quote
from mdactors.cli.context import PROGRAM
from mdactors.cli.whoami import login_name

TYPE_CHECKING = False  # known to type checkers; the typing module would cost a tenth of a whole verb
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from mdactors.cli.context import Context

CONDITIONS = {"device-unhealthy": "unhealthy", "device-recovered": "recovered", "device-lost": "lost"}


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
    body = {"condition": condition, "reason": options.reason, "source": login_name()}
    answer = context.client.post(f"/v1/devices/{quote(options.device)}/report", body)
    if context.json:
        context.out.document(answer)
    else:
        context.out.line(f"{options.device}: reported as {condition}")
    return 0
