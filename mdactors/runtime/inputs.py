"""The store of inputs: one read-only copy for each digest, so that a later edit can't change a queued job."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from events.spec import InputFile
from mdactors.errors import InputError

CHUNK = 1 << 20


class InputStore:
    """`<state>/inputs/<sha256>`. Copies, never links to the user's file: an editor that writes in place would reach through."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[tuple[str, int, int, int], tuple[str, int, Path]] = {}
        """Path, inode, size and time of change -> what was kept: a batch that names one file a thousand times reads it once."""

    def keep(self, path: Path) -> tuple[str, int, Path]:
        """Copy a file into the store, durable; return sha256, size in bytes and the kept copy's path.

        Raises:
            InputError: it is not there, is no file, is empty, or can't be read.
        """
        try:
            stat = path.stat()
            key = (str(path), stat.st_ino, stat.st_size, stat.st_mtime_ns)
            if key not in self._known or not self._known[key][2].exists():
                self._known[key] = self._copy(path)
            return self._known[key]
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from error
        except ValueError as error:
            raise InputError(f"{str(path)!r}: is no path: {error}") from error

    def _copy(self, path: Path) -> tuple[str, int, Path]:
        if not path.is_file():
            raise InputError(f"{path}: is not a file")
        self.root.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        with (
            path.open("rb") as source,
            tempfile.NamedTemporaryFile(dir=self.root, prefix=".part-", delete=False) as target,
        ):
            part = Path(target.name)
            while chunk := source.read(CHUNK):
                digest.update(chunk)
                target.write(chunk)
            target.flush()
            os.fsync(target.fileno())
            size = target.tell()
        kept = self.root / digest.hexdigest()
        part.chmod(0o444)
        part.rename(kept)
        return digest.hexdigest(), size, kept

    def place(self, inputs: Iterable[InputFile], folder: Path) -> None:
        """Make the inputs appear under `folder/inputs/`: hard links to the read-only copies, else copies."""
        for item in inputs:
            target = folder / "inputs" / item.name
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                link_or_copy(self.root / item.sha256, target)


def link_or_copy(source: Path, target: Path) -> None:
    """Make `source` appear as `target`: a hard link where the file system allows it, else a copy by rename."""
    with contextlib.suppress(FileExistsError):
        try:
            target.hardlink_to(source)
        except FileExistsError:
            raise
        except OSError:
            part = target.with_name(f".{target.name}.part")
            shutil.copyfile(source, part)
            part.rename(target)
