"""Sockets of the API: their owner's alone, stale ones replaced, addresses refused."""

from __future__ import annotations

import socket
import stat
from pathlib import Path

import pytest

from mdactors.api.sockets import SOCKET_NAME, tcp_socket, unix_socket
from mdactors.cli import client as cli_client
from mdactors.errors import ConfigError


def test_client_and_server_agree_on_the_name() -> None:
    assert SOCKET_NAME == cli_client.SOCKET_NAME


def test_the_socket_is_its_owners_alone_and_goes_when_it_is_left(tmp_path: Path) -> None:
    path = tmp_path / SOCKET_NAME
    with unix_socket(tmp_path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists()


def test_who_connects_before_it_is_served_waits(tmp_path: Path) -> None:
    with unix_socket(tmp_path) as listening, socket.socket(socket.AF_UNIX) as early:
        early.connect(str(tmp_path / SOCKET_NAME))
        early.sendall(b"a question")
        served, _ = listening.accept()
        with served:
            assert served.recv(100) == b"a question"


def test_a_stale_socket_is_replaced_and_another_file_is_not(tmp_path: Path) -> None:
    path = tmp_path / SOCKET_NAME
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(path))
    left.close()
    with unix_socket(tmp_path):
        pass
    path.write_text("precious")
    with pytest.raises(OSError, match="in use"), unix_socket(tmp_path):
        pass
    assert path.read_text() == "precious"


@pytest.mark.parametrize(
    "listen", ["8080", ":8080", "host:", "host:http", "no.such.host.invalid:80", "a..b:80", "127.0.0.1:99999"]
)
def test_an_address_that_is_none_is_refused(listen: str) -> None:
    with pytest.raises(ConfigError, match="listen"):
        tcp_socket(listen)


def test_an_address_in_use_is_refused() -> None:
    with tcp_socket("127.0.0.1:0") as first, pytest.raises(ConfigError, match="can't be bound"):
        tcp_socket(f"127.0.0.1:{first.getsockname()[1]}")
