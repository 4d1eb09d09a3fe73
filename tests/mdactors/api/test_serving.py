"""What handlers find."""

from __future__ import annotations

import pytest

from mdactors.api.app import create_app
from mdactors.api.serving import Serving, served
from mdactors.errors import UnknownJobError
from tests.mdactors.api.world import World


def test_an_application_keeps_what_it_serves(world: World) -> None:
    assert served(create_app(world, token=None)).platform is world


def test_jobs_are_found_by_number(world: World) -> None:
    serving = Serving(world)
    assert serving.job(1).job == 1
    with pytest.raises(UnknownJobError, match="there is no job 99"):
        serving.job(99)
