"""ci/sizes: the product does not grow unnoticed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SIZES = Path(__file__).parents[2] / "ci/sizes"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A product of 1,000 lines of Python and 200 of SQL, recorded."""
    for folder in ("ci", "bench/agent", "analysis", "results.duckdb-schema/views"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(SIZES, tmp_path / "ci/sizes")
    (tmp_path / "bench/agent/run.py").write_text("x = 1\n" * 1000)
    (tmp_path / "results.duckdb-schema/views/phases.sql").write_text("-- one\n" * 200)
    subprocess.run([tmp_path / "ci/sizes", "--record"], check=True)
    return tmp_path


def _sizes(tree: Path) -> tuple[int, str]:
    result = subprocess.run([tree / "ci/sizes"], capture_output=True, text=True, check=False)
    return result.returncode, result.stdout


def test_a_total_within_a_percent_of_its_record_passes_and_the_folders_are_listed(tree: Path) -> None:
    (tree / "bench/agent/run.py").write_text("x = 1\n" * 1010)
    code, said = _sizes(tree)
    assert code == 0
    assert [line.split() for line in said.splitlines()[1:]] == [
        ["bench/agent", "1010", "1000", "0", "0"],
        ["results.duckdb-schema/views", "0", "0", "200", "200"],
        ["total", "1010", "1000", "200", "200"],
    ]


@pytest.mark.parametrize(
    ("file", "lines"), [("bench/agent/run.py", 1011), ("bench/agent/run.py", 989), ("analysis/more.sql", 3)]
)
def test_a_larger_change_fails_until_it_is_recorded(tree: Path, file: str, lines: int) -> None:
    (tree / file).write_text("x = 1\n" * lines)
    code, said = _sizes(tree)
    assert code == 1
    assert "ci/sizes --record" in said
    subprocess.run([tree / "ci/sizes", "--record"], check=True)
    assert _sizes(tree)[0] == 0
