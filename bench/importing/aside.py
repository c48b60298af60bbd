"""A session's folder that is made aside and then given its name, so that it is there whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.errors import InputError
from bench.launch.session import SessionFolder

_ASIDE = ".import-"
_STALE_S = 86_400.0


def place(session: SessionFolder, fill: Callable[[Path], None]) -> None:
    """Make the session's folder, with what `fill` writes into the empty one that it is given.

    Raises InputError where the session exists or the folder cannot be written; nothing is left behind then."""
    results = session.path.parent
    if session.path.exists():
        raise InputError(
            f"session {session.session_id} exists in {results}: choose another --session, or leave it out for a new one"
        )
    aside = None
    try:
        results.mkdir(parents=True, exist_ok=True)
        _sweep(results)
        aside = Path(tempfile.mkdtemp(prefix=_ASIDE, dir=results))
        aside.chmod(0o777 & ~_umask())
        fill(aside)
        aside.rename(session.path)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR) and session.path.exists():
            raise InputError(f"session {session.session_id} was made by somebody else just now") from error
        raise InputError(f"results cannot be written: {error}; --results names another folder") from error
    finally:
        if aside is not None:
            shutil.rmtree(aside, ignore_errors=True)


def _sweep(results: Path) -> None:
    """What imports that were killed left behind; one of today may still be going on."""
    for folder in results.glob(f"{_ASIDE}*"):
        if time.time() - folder.stat().st_mtime > _STALE_S:
            shutil.rmtree(folder, ignore_errors=True)


def _umask() -> int:
    """mkdtemp's folder is for its owner alone; a session's is like any other folder of this user."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
