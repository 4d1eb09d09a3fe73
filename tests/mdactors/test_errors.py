"""One root, and a leaf for each situation."""

from __future__ import annotations

import pytest

from mdactors import errors
from mdactors.errors import (
    AlreadyClaimedError,
    ConfigError,
    FolderBusyError,
    InputError,
    JournalError,
    LaunchError,
    MdactorsError,
    NewerJournalError,
)

ALL = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_error_of_ours_has_one_root_a_name_and_a_sentence(kind: type[Exception]) -> None:
    assert issubclass(kind, MdactorsError)
    assert kind.__name__.endswith("Error")
    assert (kind.__doc__ or "").endswith(".")
    assert str(kind("what, and what helps")) == "what, and what helps"


@pytest.mark.parametrize(
    ("special", "general"),
    [
        (ConfigError, InputError),
        (NewerJournalError, JournalError),
        (AlreadyClaimedError, LaunchError),
        (FolderBusyError, LaunchError),
    ],
)
def test_who_handles_the_general_handles_the_special(special: type[Exception], general: type[Exception]) -> None:
    assert issubclass(special, general)


def test_no_error_of_ours_is_taken_for_one_of_the_system() -> None:
    assert not [kind for kind in ALL if issubclass(kind, OSError | ValueError | LookupError)]
