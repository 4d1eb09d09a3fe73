"""Wait for jobs of a running platform: by its events, never by asking again and again."""

from __future__ import annotations

import json

from mdactors.cli.client import BrokenAnswerError, Client

TYPE_CHECKING = False  # known to type checkers; the typing module would cost a tenth of a whole verb
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

ENDS = ("JobCompleted", "JobFailed", "JobCancelled", "JobRejected")
ENDED = ("completed", "failed", "cancelled", "rejected")

SPAN = 250
"""Job numbers of one question; see `PAGE_MAX` of the API."""


class Pending:
    """Jobs that have not ended yet, by all that was heard."""

    def __init__(self, client: Client, jobs: Iterable[int]) -> None:
        self.jobs = set(jobs)
        self._client = client

    def wait(self, since: int) -> None:
        """Return when all have ended.

        Raises:
            BrokenAnswerError: the platform was stopped meanwhile.
        """
        if not self.jobs:
            return
        for line in self._client.records(type_="Job*", since=since, follow=True):
            self.hear(json.loads(line))
            if not self.jobs:
                return
        raise BrokenAnswerError("the platform was stopped; the jobs go on when it is started again")

    def hear(self, record: dict[str, Any]) -> None:
        """Take note of a record; after a gap, look where the jobs stand."""
        if record["type"] == "Gap":
            rows = rows_of(self._client, sorted(self.jobs))
            self.jobs -= {row["job"] for row in rows if row["state"] in ENDED}
        elif record["type"] in ENDS:
            self.jobs.discard(record["job"])


def rows_of(client: Client, jobs: Sequence[int]) -> list[dict[str, Any]]:
    """Return the rows of these jobs (numbers in rising order), in few requests."""
    wanted, rows = set(jobs), []
    last = 0
    for number in jobs:
        if number > last:
            last = number + SPAN - 1
            page = client.get("/v1/jobs", first=number, last=last)
            rows += [row for row in page["jobs"] if row["job"] in wanted]
    return rows
