"""The platform's own life."""

from __future__ import annotations

import msgspec
import pytest

from events.codec import decode
from events.platform import PlatformStarted, Policy


def test_a_life_whose_policy_was_not_written_had_the_first_one() -> None:
    body = b'{"type":"PlatformStarted","version":"0.1.0","node":"n0","pid":1,"boot_id":"b"}'
    started = decode("PlatformStarted", 1, body)
    assert isinstance(started, PlatformStarted)
    assert started.policy == Policy(logic=1, aging_per_hour=1.0, retries=3, suspicions=3, probe_ttl_seconds=300.0)


def test_a_policy_is_written_whole_so_that_a_new_default_judges_no_old_log() -> None:
    assert set(msgspec.to_builtins(Policy())) == set(Policy.__struct_fields__)


@pytest.mark.parametrize("field", ["version", "node", "pid", "boot_id"])
def test_a_life_says_who_lived_where(field: str) -> None:
    plain = msgspec.to_builtins(PlatformStarted(version="0.1.0", node="n0", pid=1, boot_id="b"))
    del plain[field]
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert(plain, PlatformStarted)
