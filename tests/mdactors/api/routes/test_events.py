"""The event log over HTTP."""

from __future__ import annotations

import json
from typing import Any

import anyio
import anyio.lowlevel
import msgspec

from events.base import Record
from events.devices import ProbeRequested
from mdactors.api.feed import Gap, Line
from mdactors.api.routes.events import NDJSON, as_line, as_sse
from tests.mdactors.api.conftest import Api
from tests.mdactors.api.world import World, in_thread, listening


def lines(api: Api, **query: object) -> list[dict[str, Any]]:
    answer = api.get(
        "/v1/events", params={name: str(value) for name, value in query.items()}, headers={"Accept": NDJSON}
    )
    assert answer.headers["content-type"] == NDJSON
    return [json.loads(line) for line in answer.text.splitlines()]


def test_json_lines_carry_place_time_cause_type_and_fields(api: Api) -> None:
    first = lines(api)[0]
    assert list(first)[:4] == ["seq", "time", "cause", "type"]
    assert (first["seq"], first["type"], first["node"]) == (1, "PlatformStarted", "node")


def test_since_type_and_job_choose(api: Api, world: World) -> None:
    assert [each["seq"] for each in lines(api, since=world.last_seq - 1)] == [world.last_seq]
    assert {each["type"] for each in lines(api, type="*Started")} == {"PlatformStarted", "AttemptStarted"}
    assert {each["job"] for each in lines(api, job=2)} == {2}


def test_server_sent_events_can_be_resumed_by_their_ids(api: Api, world: World) -> None:
    whole = api.get("/v1/events").text
    events = whole.strip().split("\n\n")
    assert len(events) == world.last_seq
    assert events[0].splitlines()[:2] == ["id: 1", "event: PlatformStarted"]
    rest = api.get("/v1/events", headers={"Last-Event-ID": "5"}).text.strip().split("\n\n")
    assert rest == events[5:]


def test_an_ephemeral_fact_and_a_gap_have_no_id() -> None:
    ephemeral = Line(Record(0, 0.0, 0, ProbeRequested(by="x")))
    assert as_sse(ephemeral).startswith(b"event: ProbeRequested\ndata: {")
    gap = Gap(3, 7, 5)
    assert as_sse(gap) == b'event: Gap\ndata: {"type":"Gap","first":3,"last":7,"lost":5}\n\n'
    assert msgspec.json.decode(as_line(gap)) == {"type": "Gap", "first": 3, "last": 7, "lost": 5}


def test_a_sequence_number_that_is_none_is_refused(api: Api) -> None:
    assert api.get("/v1/events", params={"since": "-1"}).status_code == 400
    assert api.get("/v1/events", headers={"Last-Event-ID": "x"}).status_code == 400


async def test_following_over_a_socket_sees_everything_once(world: World) -> None:
    start, count = world.last_seq, 300
    async with listening(world) as client:
        found: list[int] = []

        def listen() -> None:
            for line in client.records(since=start - 5, follow=True):
                found.append(json.loads(line)["seq"])
                if found[-1] == start + count:
                    return

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(in_thread, listen)
            for _ in range(count):
                world.append(ProbeRequested(by="load"))
                await anyio.lowlevel.checkpoint()
    assert found == list(range(start - 4, start + count + 1))
