"""uvicorn on bound sockets: started, stopped, and found under long names."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from mdactors.api.app import create_app
from mdactors.api.server import STOP_SECONDS, serve
from mdactors.api.serving import served
from mdactors.api.sockets import SOCKET_NAME, tcp_socket, unix_socket
from mdactors.cli.client import Client
from mdactors.errors import NoPlatformError
from tests.mdactors.api.world import World, in_thread, listening


async def test_a_long_state_path_works_on_both_sides(tmp_path: Path) -> None:
    state = tmp_path / ("deep" * 20) / ("deeper" * 20)
    state.mkdir(parents=True)
    async with listening(World(state)) as client:
        assert (await in_thread(client.get, "/health"))["status"] == "ok"
    with pytest.raises(NoPlatformError):
        await in_thread(client.get, "/health")


async def test_a_stop_ends_streams_and_leaves_nothing(world: World) -> None:
    found: list[bytes] = []

    def listen(client: Client) -> None:
        found.extend(client.records(since=world.last_seq - 1, follow=True))

    app = create_app(world, token=None)
    with unix_socket(world.state) as sock:
        async with anyio.create_task_group() as tasks:
            await tasks.start(serve, app, sock)
            async with anyio.create_task_group() as listeners:
                listeners.start_soon(in_thread, listen, Client(str(world.state)))
                while not served(app).hub.clients:
                    await anyio.lowlevel.checkpoint()
                tasks.cancel_scope.cancel()
    assert len(found) == 1  # the record of the past; then the stream ended in good order


async def test_a_client_that_does_not_read_delays_no_stop(world: World, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3000):
        world.queue()
    app = create_app(world, token=None)
    with unix_socket(world.state) as sock, socket.socket(socket.AF_UNIX) as stalled:
        async with anyio.create_task_group() as tasks:
            await tasks.start(serve, app, sock)
            stalled.connect(str(world.state / SOCKET_NAME))
            stalled.sendall(b"GET /v1/events?follow=true HTTP/1.1\r\nHost: x\r\n\r\n")
            while not served(app).hub.clients:
                await anyio.lowlevel.checkpoint()
            asked = time.monotonic()
            tasks.cancel_scope.cancel()
    assert time.monotonic() - asked < STOP_SECONDS
    assert not caplog.records


async def test_tcp_serves_the_same(world: World) -> None:
    sock = tcp_socket("127.0.0.1:0")
    port = sock.getsockname()[1]
    async with anyio.create_task_group() as tasks:
        await tasks.start(serve, create_app(world, token="t"), sock)
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert (await stream.receive()).startswith(b"HTTP/1.1 200")
        tasks.cancel_scope.cancel()
