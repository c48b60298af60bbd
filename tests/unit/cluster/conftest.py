"""For each test, a secret and a list of objects to close."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import ExitStack

import pytest


@pytest.fixture
def secret() -> bytes:
    """A different secret for each test, because it determines the ports."""
    return secrets.token_bytes(32)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """A stack that closes the opened objects at the end of the test."""
    with ExitStack() as opened:
        yield opened
