"""argv -> one verb. Only that verb is imported, and it imports what it needs."""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Iterator, Mapping, Sequence

from mdactors import __version__
from mdactors.cli.context import PROGRAM, Context, common_options
from mdactors.cli.output import hang_up
from mdactors.cli.text import printable
from mdactors.errors import InputError, MdactorsError

TYPE_CHECKING = False  # known to type checkers; the typing module would cost a tenth of a whole `status`
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from types import ModuleType

    from mdactors.cli.context import Assemble

VERBS = {
    "submit": "hand jobs over to the platform, or run them right here where none is running",
    "status": "the platform at a glance, or the whole story of one job",
    "caps": "what there is to run on, and what is missing and why",
    "cancel": "end jobs; what they wrote is kept",
    "logs": "the engine's own output",
    "ledger": "what was run and how fast",
    "tail": "the event log as lines of JSON",
    "replay": "the state at any point of the log, why a job stands where it does, what if ...",
    "check": "is the event log whole, and if not, up to where",
    "recover": "the event log is lost: make a new one from the job folders",
    "serve": "run the platform until it is told to stop",
    "reconcile": "compare the energies of two jobs",
    "inject": "say that a device is unhealthy or has recovered",
}

HELP_WIDTH = 100

WITH_VALUE = ("--state", "--config")


def main(argv: Sequence[str], *, environ: Mapping[str, str], assemble: Assemble) -> int:
    """Run one command line (without the program's name) and return its exit code.

    0: all went well; 1: it did not; 2: the command line or a file can't be used; 130: stopped by Ctrl-C.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name that this terminal can't show stops nobody
    try:
        return _dispatch(argv, environ, assemble)
    except SystemExit as stop:  # argparse has said why
        return stop.code if isinstance(stop.code, int) else 2
    except MdactorsError as error:
        return _complain(error)
    except ExceptionGroup as group:
        expected, others = group.split(MdactorsError)
        if others or not expected:
            raise
        return max(_complain(error) for error in _leaves(expected))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `| head` has seen enough
        hang_up()
        return 0


def _dispatch(argv: Sequence[str], environ: Mapping[str, str], assemble: Assemble) -> int:
    before, verb, after = split(argv)
    if verb is None:
        return _without_verb(before, environ, assemble)
    if verb not in VERBS:
        raise InputError(_unknown(verb))
    return run_verb(verb, [*before, *after], environ, assemble)


def run_verb(verb: str, words: Sequence[str], environ: Mapping[str, str], assemble: Assemble) -> int:
    """Run one verb with its options."""
    module = importlib.import_module(f"mdactors.cli.{verb}")
    return int(module.run(Context(_parser(verb, module).parse_args(words), environ, assemble)))


def split(argv: Sequence[str]) -> tuple[list[str], str | None, list[str]]:
    """Return the options before the verb, the verb (None: there is none), and the rest."""
    place = 0
    while place < len(argv) and argv[place].startswith("-"):
        place += 2 if argv[place] in WITH_VALUE else 1
    return list(argv[:place]), (argv[place] if place < len(argv) else None), list(argv[place + 1 :])


def _parser(verb: str, module: ModuleType) -> ArgumentParser:
    from argparse import ArgumentParser, HelpFormatter  # noqa: PLC0415 - `--version` needs none of it

    parser = ArgumentParser(
        prog=f"{PROGRAM} {verb}",
        description=module.__doc__,
        allow_abbrev=False,
        # A width that is given spares argparse the import of shutil, to ask the terminal, at every start.
        formatter_class=lambda prog: HelpFormatter(prog, width=HELP_WIDTH),
    )
    module.configure(parser)
    common_options(parser)
    return parser


def _without_verb(words: list[str], environ: Mapping[str, str], assemble: Assemble) -> int:
    if "--version" in words:
        sys.stdout.write(f"mdactors {__version__}\n")
        return 0
    if "--help" in words or "-h" in words:
        sys.stdout.write(_usage())
        return 0
    from mdactors.cli.intro import introduce  # noqa: PLC0415 - only here

    return 0 if introduce(words, environ) else run_verb("status", words, environ, assemble)


def _usage() -> str:
    verbs = "\n".join(f"  {verb:10} {meaning}" for verb, meaning in VERBS.items())
    return f"usage: {PROGRAM} [--state DIR] VERB ...\n\n{verbs}\n\n{PROGRAM} VERB --help explains a verb.\n"


def _unknown(verb: str) -> str:
    import difflib  # noqa: PLC0415 - only for those who mistype

    near = difflib.get_close_matches(verb, VERBS, n=1, cutoff=0.5)
    return f"{verb!r} is no verb; " + (f"did you mean {near[0]!r}?" if near else f"verbs: {', '.join(VERBS)}")


def _remedy(error: MdactorsError) -> str:
    given = getattr(error, "remedy", None)
    if given is not None:
        return str(given)
    sentences = (type(error).__doc__ or "").replace("\n", " ").split(". ", 1)
    return sentences[1].strip() if len(sentences) > 1 else ""


def _complain(error: MdactorsError) -> int:
    """Say what went wrong and what helps; return the exit code."""
    remedy = _remedy(error)
    lines = f"error: {error}\n" + (f"       {remedy}\n" if remedy else "")
    sys.stdout.flush()
    sys.stderr.writelines(f"{printable(line)}\n" for line in lines.splitlines())
    return 2 if isinstance(error, InputError) else 1


def _leaves(group: ExceptionGroup[MdactorsError]) -> Iterator[MdactorsError]:
    """Yield the errors that a task group has wrapped."""
    for error in group.exceptions:
        if isinstance(error, ExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
