"""`tail`: the event log as JSON lines, from a running platform and from a file, the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal

from events.devices import ProbeRequested
from mdactors.api import feed
from mdactors.cli.client import Client
from tests.mdactors.api.world import World
from tests.mdactors.cli.conftest import Mdctl, write_journal


def found(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize(
    "argv",
    [(), ("--since", "10"), ("--type", "Attempt*"), ("--job", "5"), ("--type", "Job*", "--job", "2", "--since", "3")],
)
def test_a_running_platform_and_a_file_give_the_same(
    mdctl: Mdctl, world: World, portal: BlockingPortal, running: World, argv: tuple[str, ...]
) -> None:
    lively = mdctl("tail", *argv)
    portal.call(write_journal, world)
    from_file = mdctl("tail", "--state", str(lonely(world)), *argv)
    assert lively == from_file
    assert list(found(lively.out)[0])[:4] == ["seq", "time", "cause", "type"]


def lonely(world: World) -> Any:
    """Return a folder with the same journal and without the socket."""
    folder = world.state.parent / "lonely"
    folder.mkdir()
    (folder / "journal.sqlite").symlink_to(world.state / "journal.sqlite")
    return folder


def test_following_a_stopped_platform_shows_what_there_is_and_says_so(mdctl: Mdctl, stopped: World) -> None:
    code, out, err = mdctl("tail", "-f", "--type", "JobFailed")
    assert (code, [each["job"] for each in found(out)]) == (1, [5])
    assert "nothing more will happen" in err


def test_following_ends_with_the_platform(mdctl: Mdctl, running: World, portal: BlockingPortal) -> None:
    running.stop()
    last = running.last_seq
    code, out, _ = mdctl("tail", "-f", "--since", str(last - 1))
    assert (code, [each["seq"] for each in found(out)]) == (0, [last])


def test_what_a_slow_reader_lost_is_asked_for_again(
    running: World, portal: BlockingPortal, monkeypatch: pytest.MonkeyPatch, mdctl: Mdctl
) -> None:
    start = running.last_seq
    answers = [
        [
            b'{"seq":%d,"type":"A"}' % (start - 2),
            b'{"type":"Gap","first":%d,"last":%d,"lost":1}' % (start - 1, start - 1),
            b'{"seq":%d,"type":"B"}' % start,
        ]
    ]
    asked = Client.records

    def records(self: Client, **query: Any) -> Iterator[bytes]:
        return iter(answers.pop(0)) if answers else asked(self, **query)

    monkeypatch.setattr(Client, "records", records)
    out = mdctl("tail", "-f").out
    assert [each["seq"] for each in found(out)] == [start - 2, start - 1, start]


def test_ephemeral_facts_are_shown_on_demand(
    running: World, portal: BlockingPortal, mdctl: Mdctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "PACE_SECONDS", 0)
    client = Client(str(running.state))
    lines = client.records(since=running.last_seq - 1, follow=True, progress=True)
    assert json.loads(next(lines))["seq"] == running.last_seq
    portal.call(running.progress, 2, 2000)
    shown = json.loads(next(lines))
    assert (shown["seq"], shown["type"], shown["step"]) == (0, "AttemptProgressed", 2000)
    portal.call(lambda: running.append(ProbeRequested(by="x")))
    assert json.loads(next(lines))["seq"] == running.last_seq
    lines.close()  # type: ignore[attr-defined]  # it is a generator


def test_a_sequence_number_that_is_none(mdctl: Mdctl) -> None:
    assert mdctl("tail", "--since", "yesterday").code == 2
