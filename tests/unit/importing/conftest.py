"""Files as other people write them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bench.errors import InputError
from bench.importing.formats import Found, Wishes, measurements

Read = Callable[..., Found]
Refusal = Callable[..., str]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """`read(text, name="t.csv", **wishes)`: what is found in a file with that text."""

    def run(text: str | bytes, name: str = "t.csv", **wishes: object) -> Found:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return measurements([str(path)], Wishes(**{"suite": "demo", **wishes}))  # type: ignore[arg-type]

    return run


@pytest.fixture
def refusal(read: Read) -> Refusal:
    """The same of a file that is wrong: the lines of the message, without the folder."""

    def run(text: str | bytes, name: str = "t.csv", **wishes: object) -> str:
        with pytest.raises(InputError) as caught:
            read(text, name, **wishes)
        message = str(caught.value)
        return message[message.index(name) :] if name in message else message

    return run
