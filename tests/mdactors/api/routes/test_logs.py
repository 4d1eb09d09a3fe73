"""The engine's own output over HTTP."""

from __future__ import annotations

import pytest

from tests.mdactors.api.conftest import Api
from tests.mdactors.api.world import World


@pytest.fixture(autouse=True)
def _files(world: World) -> None:
    folder = world.state / "jobs" / "1"
    (folder / "attempts" / "1" / "stderr").write_bytes(b"GROMACS: \xff\n")
    (folder / "md.log").write_text("Step 0\n")


@pytest.mark.parametrize(
    ("stream", "content"),
    [("stdout", b""), ("stderr", b"GROMACS: \xff\n"), ("engine", b"Step 0\n"), ("auto", b"GROMACS: \xff\n")],
)
def test_each_stream_byte_for_byte(api: Api, stream: str, content: bytes) -> None:
    answer = api.get("/v1/jobs/1/logs", params={"stream": stream})
    assert (answer.status_code, answer.content) == (200, content)


def test_following_a_job_that_has_ended_ends(api: Api) -> None:
    assert api.get("/v1/jobs/1/logs", params={"follow": "true"}).content == b"GROMACS: \xff\n"


def test_an_unknown_stream_or_job_is_refused(api: Api) -> None:
    assert api.get("/v1/jobs/1/logs", params={"stream": "dreams"}).status_code == 400
    assert api.get("/v1/jobs/99/logs").status_code == 404
