"""Files in other programs' formats."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from analysis.database import connections
from bench.common.errors import InputError
from bench.importing.import_session import Imported, ImportRequest, read_files
from tests.unit.analysis.conftest import Ask, empty, in_memory, read_back

__all__ = ["empty", "in_memory", "read_back"]

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "docs/examples"
TABLE = EXAMPLES / "published_table.txt"

Read = Callable[..., Imported]
Refusal = Callable[..., str]
Take = Callable[..., Result]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """`read(text, name="t.csv", **wishes)`: rows that are found in a file with that text."""

    def run(text: str | bytes, name: str = "t.csv", **wishes: object) -> Imported:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_files(ImportRequest(**{"files": (str(path),), "suite": "demo", **wishes}))  # type: ignore[arg-type]

    return run


@pytest.fixture
def refusal(read: Read) -> Refusal:
    """The same for a wrong file: the lines of the message, without the folder."""

    def run(text: str | bytes, name: str = "t.csv", **wishes: object) -> str:
        with pytest.raises(InputError) as caught:
            read(text, name, **wishes)
        message = str(caught.value)
        return message[message.index(name) :] if name in message else message

    return run


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "r"


@pytest.fixture
def take(results: Path) -> Take:
    """`take(*arguments)`: run bench import with them."""

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(
            import_module("bench.cli.import").command,
            [*arguments, "--results", str(results)],
            standalone_mode=False,
        )

    return run


@pytest.fixture
def rows_of(take: Take, read_back: Callable[[], Ask]) -> Callable[..., Ask]:
    """`rows_of(*arguments)`: import the files without a load, and return a function that queries the session's rows."""

    def run(*arguments: str) -> Ask:
        assert take(*arguments, "--suite", "demo", "--no-load").return_value == 0
        return read_back()

    return run


def imported(take: Take, *arguments: str) -> Result:
    done = take(*arguments)
    assert done.exception is None, done.output
    assert done.return_value == 0
    return done


def ask(results: Path, query: str) -> list[tuple[object, ...]]:
    with connections.reader(results) as connection:
        return connection.execute(query).fetchall()
