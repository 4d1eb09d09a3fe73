"""Makes a recording of a state folder's event log: `python -m tests.journals.record STATE > tests/journals/VERSION.jsonl`.

One row of the log a line, its version with it, since that is what reading old events depends on. Names of places and
people are replaced; nothing else is.
"""

from __future__ import annotations

import getpass
import json
import re
import socket
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import ROOT

FIELDS = ("seq", "time", "cause", "type", "version", "body")
BOOT_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def rows(state: Path) -> Iterator[str]:
    """Yield the rows of a log as lines of JSON."""
    with sqlite3.connect(state / "journal.sqlite") as connection:
        for row in connection.execute(f"SELECT {', '.join(FIELDS)} FROM events ORDER BY seq"):
            fields = dict(zip(FIELDS, row, strict=True))
            yield json.dumps(fields | {"body": json.loads(neutral(fields["body"], state))}, separators=(",", ":"))


def neutral(body: str, state: Path) -> str:
    """Return a body without this machine's paths, names and boot."""
    for path, name in ((state.absolute(), "/state"), (ROOT, "/mdactors"), (Path(sys.prefix), "/venv")):
        body = body.replace(str(path), name)
    node, user = socket.gethostname(), getpass.getuser()
    body = body.replace(f'"node":"{node}"', '"node":"n0"').replace(f"@{node}/", "@n0/")
    body = re.sub(rf'"(owner|by|source)":"{re.escape(user)}"', r'"\1":"ada"', body)
    return BOOT_ID.sub("00000000-0000-0000-0000-000000000000", body)


if __name__ == "__main__":
    for line in rows(Path(sys.argv[1])):
        print(line)
