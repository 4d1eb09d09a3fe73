"""A cursor over bytes in XDR, the big-endian format of GROMACS's binary files."""

from __future__ import annotations

import struct

INT = struct.Struct(">i")
INT64 = struct.Struct(">q")
FLOAT = struct.Struct(">f")
DOUBLE = struct.Struct(">d")

STRING_MAX = 65536
"""Bytes; no string in a header is nearly as long, so a longer one means that this is another kind of file."""


class XdrError(Exception):
    """The bytes end too early, or a length in them can't be true."""


class Cursor:
    """Reads values one after the other from the start of `data`."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def _take(self, form: struct.Struct) -> tuple[float | int, ...]:
        if self.at + form.size > len(self.data):
            raise XdrError(f"the file ends at byte {len(self.data)}")
        values: tuple[float | int, ...] = form.unpack_from(self.data, self.at)
        self.at += form.size
        return values

    def integer(self) -> int:
        """Read 4 bytes.

        Raises:
            XdrError: the data ends before.
        """
        return int(self._take(INT)[0])

    def integer64(self) -> int:
        """Read 8 bytes.

        Raises:
            XdrError: the data ends before.
        """
        return int(self._take(INT64)[0])

    def real(self, size: int) -> float:
        """Read a floating-point number of 4 or 8 bytes.

        Raises:
            XdrError: the data ends before.
        """
        return float(self._take(FLOAT if size == 4 else DOUBLE)[0])

    def string(self) -> str:
        """Read a length and as many bytes, padded to a multiple of 4.

        Raises:
            XdrError: the data ends before, or the length can't be true.
        """
        length = self.integer()
        if not 0 <= length <= STRING_MAX:
            raise XdrError(f"a text of {length} bytes")
        end = self.at + length
        if end > len(self.data):
            raise XdrError(f"the file ends at byte {len(self.data)}")
        text = self.data[self.at : end].decode("utf-8", errors="replace")
        self.at = end + (-length % 4)
        return text.rstrip("\0")
