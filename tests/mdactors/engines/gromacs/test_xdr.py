from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdactors.engines.gromacs.xdr import STRING_MAX, Cursor, XdrError


def packed(text: bytes) -> bytes:
    return struct.pack(">i", len(text)) + text + b"\0" * (-len(text) % 4)


@given(st.lists(st.text(max_size=40), max_size=5), st.integers(-(2**31), 2**31 - 1))
def test_what_was_packed_comes_back_in_order(words: list[str], number: int) -> None:
    words = [word.rstrip("\0") for word in words]
    cursor = Cursor(b"".join(packed(word.encode()) for word in words) + struct.pack(">i", number))
    assert [cursor.string() for _ in words] == words
    assert cursor.integer() == number


def test_numbers_of_every_size() -> None:
    cursor = Cursor(struct.pack(">qfd", 2**40, 0.5, 0.25))
    assert (cursor.integer64(), cursor.real(4), cursor.real(8)) == (2**40, 0.5, 0.25)


@pytest.mark.parametrize("length", [-1, STRING_MAX + 1])
def test_an_absurd_length_is_told(length: int) -> None:
    with pytest.raises(XdrError, match=str(length)):
        Cursor(struct.pack(">i", length) + b"x" * 8).string()


@given(st.binary(max_size=64))
def test_nothing_but_its_own_error_is_raised(data: bytes) -> None:
    cursor = Cursor(data)

    def read_on() -> None:
        for _ in range(100):
            cursor.string()
            cursor.integer64()

    with pytest.raises(XdrError):
        read_on()
