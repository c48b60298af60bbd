"""A secret and a place for what is to be closed, for each test."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import ExitStack

import pytest


@pytest.fixture
def secret() -> bytes:
    """One of its own for each test: ports follow from it."""
    return secrets.token_bytes(32)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Closes what was opened, in the end."""
    with ExitStack() as opened:
        yield opened
