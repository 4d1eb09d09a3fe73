"""What a newcomer reads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from mdactors.cli.context import state_folder
from mdactors.cli.output import Output

TEXT = """\
mdactors runs molecular-dynamics jobs on whatever this machine has, and never loses one.
Nothing runs here yet, and nothing ever did (state folder: {state}).

  python run.py caps                 what there is to run on: engines, devices, precisions
  python run.py submit jobs.json     run the jobs of a file, here and now, with a live table
  python run.py serve                run the platform; `submit` then hands jobs over to it
  python run.py status               the platform at a glance; `status 3`: all about job 3
  python run.py tail -f              the event log as lines of JSON, for jq and grep
  python run.py --help               all verbs"""


def introduce(words: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Explain the program where it was never used; return False where there is something to show."""
    given = words[words.index("--state") + 1] if "--state" in words[:-1] else None
    given = next((word.partition("=")[2] for word in words if word.startswith("--state=")), given)
    state = state_folder(given, environ)
    if _used(state):
        return False
    Output(environ).line(TEXT.format(state=state))
    return True


def _used(state: str) -> bool:
    try:
        return bool(os.listdir(state))
    except FileNotFoundError:
        return False
    except OSError:  # there is something; `status` says what is wrong with it
        return True
