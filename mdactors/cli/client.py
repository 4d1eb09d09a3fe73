"""A small HTTP client on the platform's Unix socket. Standard library only, and little of it: every verb starts with it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import select
import socket
from collections.abc import Iterator

from mdactors.errors import InputError, MdactorsError, NoPlatformError

TYPE_CHECKING = False  # known to type checkers; the typing module would cost a tenth of a whole `status`
if TYPE_CHECKING:
    from io import BufferedReader
    from typing import Any

    from _typeshed import WriteableBuffer

    Stream = BufferedReader[Any]

SOCKET_NAME = "mdactors.sock"
"""The Unix socket's name in the state folder."""

PATH_BYTES_MAX = 107
"""What the kernel takes as the path of a Unix socket."""

PIECE_BYTES = 64 * 1024
HEAD_LINES_MAX = 100
NDJSON = "application/x-ndjson"

UNUSABLE = (400, 422)
"""Answers that blame what was given."""

_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

Headers = dict[str, str]


class RequestFailedError(MdactorsError):
    """The platform answered that it can't; the message is its own."""

    def __init__(self, status: int, name: str, detail: str, remedy: str = "") -> None:
        super().__init__(detail)
        self.status = status
        self.name = name
        """Stable short name (`unknown-job`)."""
        self.remedy = remedy


class RefusedInputError(RequestFailedError, InputError):
    """The platform can't use what was given; the message is its own."""


class BrokenAnswerError(MdactorsError):
    """What came back is no answer of ours, or it ended too early: the platform was stopped meanwhile, perhaps."""


class ReaderGoneError(BrokenPipeError):
    """Nobody reads any more what an answer is written to."""


class Client:
    """Asks the platform of one state folder; a connection for each request."""

    def __init__(self, state: str) -> None:
        self.state = state

    def get(self, path: str, **query: object) -> Any:  # noqa: ANN401 - any JSON document
        """Return a resource.

        Raises:
            NoPlatformError: none is running.
            RequestFailedError: it said no.
            BrokenAnswerError: it went away.
        """
        return self._json("GET", path + query_text(query), None)

    def post(self, path: str, body: object) -> Any:  # noqa: ANN401 - any JSON document
        """Ask for something and return the answer. Raises as `get` does."""
        return self._json("POST", path, json.dumps(body).encode())

    def stream(self, path: str, *, accept: str = "*/*", reader: int | None = None, **query: object) -> Iterator[bytes]:
        """Yield an answer piece by piece as it comes.

        Args:
            path: of the resource.
            accept: the wanted media type.
            reader: descriptor of what the pieces are written to.
            query: of the resource.

        Raises:
            ReaderGoneError: while we wait, whoever reads from `reader` has gone.
            MdactorsError: as `get` does.
        """
        with self._exchange("GET", path + query_text(query), None, accept, reader) as (file, headers):
            yield from body(file, headers)

    def records(self, *, reader: int | None = None, **query: object) -> Iterator[bytes]:
        """Yield the event log as lines of JSON, without the line end. As `stream` does."""
        return lines(self.stream("/v1/events", accept=NDJSON, reader=reader, **query))

    def _json(self, method: str, path: str, content: bytes | None) -> Any:  # noqa: ANN401 - any JSON document
        with self._exchange(method, path, content, "application/json") as (file, headers):
            return json.loads(b"".join(body(file, headers)))

    @contextlib.contextmanager
    def _exchange(
        self, method: str, path: str, content: bytes | None, accept: str, reader: int | None = None
    ) -> Iterator[tuple[Stream, Headers]]:
        with connect(self.state) as sock, io.BufferedReader(_Incoming(sock, reader)) as file:
            try:
                sock.sendall(request(method, path, content, accept))
                status, headers = read_head(file)
                if status >= 400:
                    raise _failure(status, b"".join(body(file, headers)))
                yield file, headers
            except ReaderGoneError:
                raise
            except ConnectionError as error:
                raise BrokenAnswerError(f"the platform on {self.state} went away: {error}") from error


class _Incoming(socket.SocketIO):
    """What a socket receives; waiting for it ends where `reader`'s own reader goes: `tail -f | head` must not stay."""

    def __init__(self, sock: socket.socket, reader: int | None) -> None:
        super().__init__(sock, "r")
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        self._watched = reader
        if reader is not None:
            self._poll.register(reader, 0)

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        if any(descriptor == self._watched for descriptor, _ in self._poll.poll()):
            raise ReaderGoneError
        return super().readinto(buffer)


def connect(state: str) -> socket.socket:
    """Return a connection to the platform of a state folder.

    Raises:
        NoPlatformError: none is running there.
    """
    path = os.path.join(state, SOCKET_NAME)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _short_name(path) as name:
            sock.connect(name)
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError) as error:
        sock.close()
        raise NoPlatformError(f"no platform is running on {state}") from error
    except OSError as error:
        sock.close()
        raise NoPlatformError(f"the platform on {state} can't be reached: {error.strerror}") from error
    return sock


@contextlib.contextmanager
def _short_name(path: str) -> Iterator[str]:
    """Yield a name of the path that fits a socket address: the kernel keeps 108 bytes, state folders lie deeper."""
    if len(os.fsencode(path)) <= PATH_BYTES_MAX:
        yield path
        return
    folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{SOCKET_NAME}"
    finally:
        os.close(folder)


# ---------------------------------------------------------------- the protocol


def request(method: str, path: str, content: bytes | None, accept: str) -> bytes:
    """Return a whole request; the server closes the connection after its answer."""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept: {accept}\r\n"
    if content is None:
        return f"{head}\r\n".encode("ascii")
    head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode("ascii") + content


def query_text(query: dict[str, object]) -> str:
    """Return the query part of an address; None is left out, a trailing underscore of a name as well (`type_`)."""
    pairs = [f"{name.rstrip('_')}={quote(_plain(value))}" for name, value in query.items() if value is not None]
    return "?" + "&".join(pairs) if pairs else ""


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def quote(text: str) -> str:
    """Return text with everything but unreserved characters percent-encoded."""
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in text.encode())


def read_head(file: Stream) -> tuple[int, Headers]:
    """Read the status and the headers (names in lower case) of an answer.

    Raises:
        BrokenAnswerError: it is not HTTP, or it ended too early.
    """
    first = _line(file)
    parts = first.split(" ", 2)
    if not parts[0].startswith("HTTP/1.") or len(parts) < 2 or not (parts[1].isascii() and parts[1].isdigit()):
        raise BrokenAnswerError(f"not an answer of a platform: {first[:60]!r}")
    headers: Headers = {}
    for _ in range(HEAD_LINES_MAX):
        text = _line(file)
        if not text:
            return int(parts[1]), headers
        name, _, value = text.partition(":")
        headers[name.strip().lower()] = value.strip()
    raise BrokenAnswerError(f"an answer with more than {HEAD_LINES_MAX} header lines")


def body(file: Stream, headers: Headers) -> Iterator[bytes]:
    """Yield the body of an answer piece by piece.

    Raises:
        BrokenAnswerError: it ended before its end.
    """
    if headers.get("transfer-encoding", "").lower() == "chunked":
        yield from _chunks(file)
    elif "content-length" in headers:
        yield from _exactly(file, _size(headers["content-length"], 10))
    else:
        while piece := file.read1(PIECE_BYTES):
            yield piece


def _chunks(file: Stream) -> Iterator[bytes]:
    while size := _size(_line(file).partition(";")[0], 16):
        yield from _exactly(file, size)
        _line(file)
    while _line(file):
        pass  # trailers say nothing that we ask for


def _exactly(file: Stream, size: int) -> Iterator[bytes]:
    while size:
        piece = file.read(min(size, PIECE_BYTES))
        if not piece:
            raise BrokenAnswerError("the answer ended too early: the platform was stopped, perhaps")
        size -= len(piece)
        yield piece


def _size(text: str, base: int) -> int:
    try:
        size = int(text.strip(), base)
    except ValueError:
        size = -1
    if size < 0:
        raise BrokenAnswerError(f"an answer of {text[:20]!r} bytes")
    return size


def _line(file: Stream) -> str:
    line = file.readline(PIECE_BYTES)
    if not line.endswith(b"\n"):
        raise BrokenAnswerError("the answer ended too early: the platform was stopped, perhaps")
    return line.rstrip(b"\r\n").decode("latin-1")


def lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of a stream, without their ends."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
    if rest:
        yield rest


def _failure(status: int, content: bytes) -> RequestFailedError:
    try:
        fields = json.loads(content)
        kind = RefusedInputError if status in UNUSABLE else RequestFailedError
        return kind(status, fields["error"], fields["detail"], fields.get("remedy", ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        return RequestFailedError(status, "unknown", f"the platform answered with status {status}")
