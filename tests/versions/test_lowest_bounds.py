"""The lowest versions that pyproject.toml allows, without torch, load and show sessions as the locked versions do."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.versions.conftest import ROOT, Environment

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BOUNDS = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["analysis"]]
A, B, LAWS = "20261120T014925Z-smoke-3f9a", "20261121T014925Z-smoke-3f9a", "20261120T194925Z-laws-3f9a"
TEXTS = {
    "sessions": "sessions",
    "summary": "summary spiral",
    "summary of laws": f"summary {LAWS}",
    "findings": "findings spiral",
    "losses": "losses spiral",
    "slow ranks": "slow-ranks spiral",
    "history": "history laws",
    "comparison": f"compare {A} {B}",
    "markdown": "export spiral --format markdown",
    "latex": "export spiral --format latex",
    "suite": "suite mesh_sweep --world 1,2 --dry-run",
    "wrong suite": "suite smoke --dry-run --set train.precison=bf16",
    "schema": "schema",
    "help": "run --help",
}
"""Commands with figures as text."""
ROWS = {
    "summary": "summary spiral --format json",
    "scaling": "export spiral --format json",
    "memory": "export spiral --format json --view memory",
}
"""Commands with all digits."""


@pytest.fixture(scope="module")
def lowest(environment: Environment) -> Path:
    # --only-binary: versions without a wheel for this Python are too low for it
    return environment("--resolution=lowest-direct", "--only-binary=:all:", *BOUNDS)


class Side:
    """One of two Pythons, with a copy of the results that it has loaded."""

    def __init__(self, python: Path, folder: Path, results: Path) -> None:
        self.python, self.folder = python, folder
        shutil.copytree(results, folder / "results", ignore=shutil.ignore_patterns("results.duckdb*"))

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error::FutureWarning"}
        line = [self.python, "-m", "bench", *shlex.split(command.replace("spiral", self.measured))]
        return subprocess.run(
            line, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )

    @property
    def measured(self) -> str:
        (name,) = (folder.name for folder in (self.folder / "results").glob("*spiral_scaling*"))
        return name

    def text(self, command: str) -> tuple[int, str]:
        """Its exit code and what it prints, without the path of its Python and the CPUs' load."""
        ended = self.run(command)
        said = re.sub(r"bench: other processes use .*\n", "", ended.stdout + ended.stderr)
        return ended.returncode, said.replace(str(self.python), "PYTHON")

    def rows(self, queries: Path) -> dict[str, Any]:
        program = ROOT / "tests/versions/answers.py"
        command = [self.python, program, self.folder / "results/results.duckdb", queries]
        found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        return found


@pytest.fixture(scope="module")
def sides(lowest: Path, results: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Side, Side]:
    """With the lowest versions, with the locked ones."""
    made = tuple(
        Side(python, tmp_path_factory.mktemp(name), results)
        for name, python in (("lowest", lowest), ("locked", Path(sys.executable)))
    )
    for side in made:
        ended = side.run("load")
        assert ended.returncode == 0, ended.stderr
        assert "left out" not in ended.stdout + ended.stderr
    return made[0], made[1]


def _rounded(value: Any) -> Any:
    """The value with seven digits, and no more than nine decimals: sums of other versions differ in the last ones."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):  # rows have no order
        return sorted((_rounded(item) for item in value), key=repr)
    return f"{round(value, 9) or 0.0:.6e}" if isinstance(value, float) else value


def test_every_bound_is_the_version_that_is_tried(lowest: Path) -> None:
    """On Python 3.11; for later ones some packages have their first wheel later."""
    listed = subprocess.run(
        [
            lowest,
            "-c",
            "from importlib.metadata import distributions as d; print(*(f'{x.name}=={x.version}' for x in d()))",
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    found = {
        re.sub(r"[-_.]+", "-", name).lower(): version
        for name, _, version in (p.partition("==") for p in listed)
    }
    assert not any(name.startswith(("torch", "nvidia-cu", "triton")) for name in found)
    if sys.version_info[:2] == (3, 11):
        bounds = dict(bound.split(">=") for bound in BOUNDS)
        tried = {name: found[name] for name in bounds}
        assert {
            name: v for name, v in tried.items() if not re.fullmatch(rf"{re.escape(bounds[name])}(\.0)*", v)
        } == {}


def test_every_table_and_view_has_the_same_rows(sides: tuple[Side, Side], tmp_path: Path) -> None:
    queries = tmp_path / "queries.json"
    queries.write_text(
        json.dumps({"names": "SELECT DISTINCT table_name FROM duckdb_columns() WHERE NOT internal"})
    )
    tables = {json.loads(row)[0] for row in sides[1].rows(queries)["names"]}
    assert len(tables) > 60
    queries.write_text(
        json.dumps({name: f'FROM "{name}"' for name in sorted(tables) if name != "loaded_files"})
    )
    old, new = (side.rows(queries) for side in sides)
    assert {name: rows for name, rows in old.items() if rows != new[name]} == {}
    assert sum(map(len, new.values())) > 1000


@pytest.mark.parametrize("name", TEXTS)
def test_a_command_says_the_same(name: str, sides: tuple[Side, Side]) -> None:
    old, new = (side.text(TEXTS[name]) for side in sides)
    assert old == new
    assert len(new[1]) > 30


@pytest.mark.parametrize("name", ROWS)
def test_a_command_writes_the_same_numbers(name: str, sides: tuple[Side, Side]) -> None:
    old, new = (json.loads(side.run(ROWS[name]).stdout) for side in sides)
    assert _rounded(old) == _rounded(new)
    assert new


QUERY = "SELECT case_name, workers, round(speedup, 6) AS speedup, [1, 2] AS list FROM scaling ORDER BY ALL"


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "table"])
def test_a_query_answers_the_same(form: str, sides: tuple[Side, Side]) -> None:
    answers = []
    for side in sides:
        ended = side.run(f"sql '{QUERY}' --format {form} --out answer")
        assert ended.returncode == 0, ended.stderr
        out = side.folder / "answer"
        answers.append(_parquet(out) if form == "parquet" else out.read_text())
    assert answers[0] == answers[1]
    assert len(answers[0]) > 10


def _parquet(file: Path) -> Any:
    import pyarrow.parquet as pq

    return pq.read_table(file).to_pylist()


def test_the_report_has_the_same_pages_and_words(sides: tuple[Side, Side]) -> None:
    pages = []
    for side in sides:
        ended = side.run(f"report --out public --compare {A} {B}")
        assert ended.returncode == 0, ended.stderr
        found = sorted((side.folder / "public").rglob("*.html"))
        pages.append({page.name: _words(page.read_text(), side) for page in found})
    assert pages[0].keys() == pages[1].keys()
    assert len(pages[0]) >= 5
    # the planted ratios of the histories are ties, which are rounded up or down
    differ = {name for name, words in pages[0].items() if words != pages[1][name]}
    assert differ <= {"history-smoke.html"}


def _words(page: str, side: Side) -> list[str]:
    """Without scripts, which hold the charts and Vega itself."""
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.S).replace(str(side.python), "PYTHON")
    return re.sub(r"<[^>]+>", " ", text).split()


@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_a_picture_of_a_chart_is_drawn(form: str, sides: tuple[Side, Side]) -> None:
    sizes = []
    for side in sides:
        ended = side.run(f"export spiral --format {form} --chart speedup --out pictures-{form}")
        assert ended.returncode == 0, ended.stderr
        (picture,) = (side.folder / f"pictures-{form}").iterdir()
        sizes.append(picture.stat().st_size)
    assert sizes[0] == pytest.approx(sizes[1], rel=0.5)


def test_a_suite_says_in_one_line_how_to_install_torch(sides: tuple[Side, Side]) -> None:
    ended = sides[0].run("suite smoke --quick")
    assert ended.returncode == 2
    (said,) = (line for line in ended.stderr.splitlines() if line.startswith("error: "))
    assert said == (
        f"error: torch is not installed here: `{sides[0].python} -m pip install torch torchvision` installs it, "
        "or --python names a Python that has it"
    )
    assert "Traceback" not in ended.stderr
