"""Errors as answers."""

from __future__ import annotations

import pytest
from litestar.testing import TestClient

from mdactors import errors
from mdactors.api.app import create_app
from mdactors.api.failures import failure_of, short_name, status_of, told
from tests.mdactors.api.conftest import Api
from tests.mdactors.api.world import World

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.MdactorsError)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_has_a_status_a_name_and_a_message(kind: type[errors.MdactorsError]) -> None:
    failure = failure_of(kind())
    assert 400 <= status_of(kind) < 600
    assert failure.error == short_name(kind)
    assert failure.detail


def test_message_and_remedy_come_from_the_class_where_the_error_says_nothing_else() -> None:
    failure = failure_of(errors.NoPlatformError("nobody there"))
    assert failure.detail == "nobody there"
    assert failure.remedy == "Start one with `python run.py serve`."
    assert told(errors.UnknownJobError) == ("No job has this number.", "`status` lists those that exist.")


def test_a_subclass_means_what_its_base_means() -> None:
    assert status_of(errors.ConfigError) == status_of(errors.InputError) == 422
    assert status_of(errors.NewerJournalError) == 500


def test_a_closed_platform_says_when_to_come_back(world: World, api: Api) -> None:
    world.closed = "scheduler failed at record 7"
    answer = api.post("/v1/jobs", json={"jobs": [{"kind": "tpr", "tpr": "a"}], "base": "/"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert answer.json() == {"error": "intake-closed", "detail": world.closed, "remedy": ""}


def test_a_fault_of_ours_is_logged_and_told_without_its_inside(world: World, caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> tuple[bytes, str]:
        raise ZeroDivisionError("secret of the house")

    world.metrics = broken  # type: ignore[method-assign]
    with TestClient(create_app(world, token=None), raise_server_exceptions=False) as api:
        answer = api.get("/metrics")
    assert answer.status_code == 500
    assert answer.json()["error"] == "internal"
    assert "secret" not in answer.text
    assert "secret of the house" in caplog.text


def test_a_wrong_field_is_named(api: Api) -> None:
    answer = api.post("/v1/cancel", json={"jobs": ["one"]})
    assert answer.status_code == 400
    assert "jobs" in answer.json()["detail"]
