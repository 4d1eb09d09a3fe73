"""The HTTP client: what it sends, and what it makes of any answer."""

from __future__ import annotations

import io
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdactors.cli import client as subject
from mdactors.cli.client import (
    BrokenAnswerError,
    Client,
    ReaderGoneError,
    RequestFailedError,
    body,
    lines,
    query_text,
    quote,
    read_head,
)
from mdactors.errors import NoPlatformError
from tests.mdactors.api.world import World

NAMES = st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyz-ABC123"), min_size=1, max_size=20)
VALUES = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40)
PIECES = st.lists(st.binary(min_size=1, max_size=300), max_size=8)


def reader(content: bytes) -> io.BufferedReader:
    return io.BufferedReader(io.BytesIO(content))


@given(
    status=st.integers(100, 599), headers=st.dictionaries(NAMES.map(str.lower), VALUES, max_size=10), rest=st.binary()
)
def test_any_head_is_read_to_its_end_and_no_further(status: int, headers: dict[str, str], rest: bytes) -> None:
    head = "".join(f"{name.title()}: {value}\r\n" for name, value in headers.items())
    file = reader(f"HTTP/1.1 {status} Some Reason\r\n{head}\r\n".encode() + rest)
    assert read_head(file) == (status, headers)
    assert file.read() == rest


@given(content=st.binary(max_size=400))
def test_noise_is_refused_and_never_anything_worse(content: bytes) -> None:
    file = reader(content)
    try:
        _, headers = read_head(file)
        b"".join(body(file, headers))
    except BrokenAnswerError:
        pass


@given(pieces=PIECES)
def test_a_chunked_body_comes_back_whole(pieces: list[bytes]) -> None:
    content = (
        b"".join(b"%x;name=value\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\nTrailer: x\r\n\r\n"
    )
    assert b"".join(body(reader(content), {"transfer-encoding": "chunked"})) == b"".join(pieces)


@given(content=st.binary(max_size=200), cut=st.integers(1, 200))
def test_a_body_that_ends_too_early_is_told(content: bytes, cut: int) -> None:
    whole = b"%x\r\n%b\r\n0\r\n\r\n" % (len(content), content) if content else b"0\r\n\r\n"
    short = whole[: max(0, len(whole) - cut)]
    with pytest.raises(BrokenAnswerError):
        b"".join(body(reader(short), {"transfer-encoding": "chunked"}))
    with pytest.raises(BrokenAnswerError):
        b"".join(body(reader(content), {"content-length": str(len(content) + cut)}))


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    assert b"".join(body(reader(b"abc"), {})) == b"abc"


@given(pieces=PIECES)
def test_lines_do_not_depend_on_where_the_pieces_are_cut(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    expected = whole.split(b"\n")
    assert list(lines(iter(pieces))) == (expected if expected[-1] else expected[:-1])


@given(text=st.text(max_size=30))
def test_quoting_is_undone_by_the_standard_library(text: str) -> None:
    from urllib.parse import unquote

    assert unquote(quote(text)) == text
    assert quote(text).isascii()


def test_a_query_leaves_out_what_is_not_given() -> None:
    assert query_text({"since": 3, "type_": "Job*", "job": None, "follow": True}) == "?since=3&type=Job%2A&follow=true"
    assert query_text({}) == ""


@pytest.mark.parametrize("state", ["/nowhere", "/dev/null"])
def test_nobody_listens(state: str) -> None:
    with pytest.raises(NoPlatformError, match=f"no platform is running on {state}"):
        Client(state).get("/health")


def test_a_socket_that_nobody_holds_any_more(tmp_path: Path) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / subject.SOCKET_NAME))
    left.close()
    with pytest.raises(NoPlatformError):
        Client(str(tmp_path)).get("/health")


def test_a_failure_carries_name_detail_and_remedy(running: World) -> None:
    with pytest.raises(RequestFailedError, match="there is no job 99") as caught:
        Client(str(running.state)).get("/v1/jobs/99")
    assert (caught.value.status, caught.value.name) == (404, "unknown-job")
    assert caught.value.remedy == "`status` lists those that exist."


@pytest.fixture
def answering(tmp_path: Path) -> Iterator[list[bytes]]:
    """A server that sends these bytes to the first client and hangs up."""
    answer: list[bytes] = []

    def serve() -> None:
        peer, _ = listener.accept()
        with peer:
            peer.recv(65536)
            peer.sendall(b"".join(answer))

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / subject.SOCKET_NAME))
        listener.listen()
        thread = threading.Thread(target=serve)
        thread.start()
        yield answer
        thread.join()


def test_an_error_page_of_somebody_else_is_still_an_error(tmp_path: Path, answering: list[bytes]) -> None:
    answering.append(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\noops")
    with pytest.raises(RequestFailedError, match="status 502"):
        Client(str(tmp_path)).get("/health")


def test_a_platform_that_dies_while_it_answers(tmp_path: Path, answering: list[bytes]) -> None:
    answering.append(b"HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{")
    with pytest.raises(BrokenAnswerError, match="ended too early"):
        Client(str(tmp_path)).get("/health")


def test_waiting_ends_where_nobody_reads_what_would_come(running: World) -> None:
    reading, writing = os.pipe()
    records = Client(str(running.state)).records(since=running.last_seq - 1, follow=True, reader=writing)
    assert json.loads(next(records))["seq"] == running.last_seq
    os.close(reading)
    with pytest.raises(ReaderGoneError):
        next(records)
    os.close(writing)
