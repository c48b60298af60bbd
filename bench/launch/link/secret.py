"""A secret that every task of a step comes to share, without a word on a command line or in the environment.

Each task tries to create one file in the results folder, which all nodes share and only this user can read. On
NFS, too, exactly one succeeds: its bytes are the secret. Nothing else is ever said through that folder.
"""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

from bench.errors import InputError

_BYTES = 32
_STALE_S = 86_400.0
"""No step gathers for so long."""
_SETTLES_S = 10.0
"""How long what was written on another node may take to show here."""


def share(results: Path, key: str) -> bytes:
    """The secret of the step called `key`. Raises InputError where the results folder cannot be written."""
    path = secret_file(results, key)
    try:
        results.mkdir(parents=True, exist_ok=True)
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return _read(path)
        _sweep(results)
        secret = secrets.token_bytes(_BYTES)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(secret)
        except OSError:
            path.unlink()
            raise
        return secret
    except OSError as error:
        raise InputError(f"results cannot be written: {error}; --results names another folder") from error


def _sweep(results: Path) -> None:
    """Remove what steps that were killed while they gathered have left."""
    for path in results.glob(".step-*"):
        with suppress(OSError):  # gone, or another user's
            if time.time() - path.stat().st_mtime > _STALE_S:
                path.unlink()


def secret_file(results: Path, key: str) -> Path:
    """Where the step's secret lies until all its tasks have met."""
    return results / f".step-{key}"


def _read(path: Path) -> bytes:
    deadline = time.monotonic() + _SETTLES_S
    while True:
        status = path.lstat()
        secret = path.read_bytes()
        if status.st_uid != os.getuid() or status.st_mode & 0o077:
            raise InputError(f"{path} is not this user's alone: remove it and start the step again")
        if len(secret) == _BYTES:
            return secret
        if time.monotonic() > deadline:
            raise InputError(f"{path} should hold a secret and does not: remove it and start the step again")
        time.sleep(0.02)
