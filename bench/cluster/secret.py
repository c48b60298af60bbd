"""A secret that all tasks of a step share, without a command line or environment variable that others could read.

Each task tries to create the same file in the results folder, which all nodes share; only this user can read the file.
Exactly one task succeeds, on NFS, too, and writes random bytes: the secret. The tasks exchange nothing else by files.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path

from bench.common.errors import InputError

_BYTES = 32
_STALE_S = 86_400.0
"""Age after which a secret's file is left over from a killed step: no step gathers for this long."""
_SETTLES_S = 10.0
"""Longest time until a file that was written on another node is visible here."""


def shared_secret(results: Path, key: str) -> bytes:
    """The secret of the step `key`. Raises InputError if the results folder cannot be written."""
    path = secret_file(results, key)
    try:
        results.mkdir(parents=True, exist_ok=True)
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return _read(path)
        _remove_stale(results)
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


def _remove_stale(results: Path) -> None:
    """Remove what steps that were killed while they gathered have left."""
    for path in results.glob(".step-*"):
        with suppress(OSError):  # gone, or another user's
            if time.time() - path.lstat().st_mtime > _STALE_S:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def secret_file(results: Path, key: str) -> Path:
    """The file that holds the step's secret until all its tasks have met."""
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
