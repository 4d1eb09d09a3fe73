"""Every error that the platform raises on purpose: one root, and a leaf for each situation."""

from __future__ import annotations


class MdactorsError(Exception):
    """Something went wrong that has a name."""


class InputError(MdactorsError):
    """A file or a field that a user gave can't be used; the message names field, value and remedy."""


class ConfigError(InputError):
    """The platform's own settings can't be used; the message names the setting, its value and the remedy."""


class StateBusyError(MdactorsError):
    """Another platform holds the state folder; the message says who and since when."""


class NoPlatformError(MdactorsError):
    """No platform is running on this state folder. Start one with `python run.py serve`."""


class JournalError(MdactorsError):
    """The event log can't be read or written. `python run.py check` says what is wrong with it, and how to go on."""


class NewerJournalError(JournalError):
    """The event log was written by a newer mdactors. Use that version, or a newer one, to read it."""


class IllegalTransitionError(MdactorsError):
    """An event does not fit the state of its job or attempt: a fault of ours; the message carries the job's story."""


class LaunchError(MdactorsError):
    """The process could not be started; the message says why."""


class AlreadyClaimedError(LaunchError):
    """The attempt was claimed before: it ran, or runs; ask the substrate what became of it."""


class FolderBusyError(LaunchError):
    """Something still lives in the job's folder; never two writers."""


class IntakeClosedError(MdactorsError):
    """The platform takes no new work until it is restarted; the message names the actor and the event that did it."""


class BacklogFullError(MdactorsError):
    """Too many jobs wait already; submit again when some have ended."""


class UnknownJobError(MdactorsError):
    """No job has this number. `status` lists those that exist."""


class EnergiesMissingError(MdactorsError):
    """A job's folder holds no energies that can be read; the message says what was looked for."""
