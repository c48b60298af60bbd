"""`bench batch`, called."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import bench.cli


class Done(NamedTuple):
    code: int
    text: str
    said: str

    @property
    def head(self) -> list[str]:
        """Lines for sbatch."""
        lines = self.text.splitlines()
        return [line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH ")]

    @property
    def step(self) -> list[str]:
        """The words behind srun, as bash takes the line apart."""
        lines = [line.strip() for line in self.text.splitlines()]
        rest = "\n".join(lines).partition("\nsrun ")[2].replace("\\\n", "")
        return shlex.split(rest.partition("\n")[0])


Script = Callable[..., Done]


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Script:
    """Calls `bench batch` in a folder that has a file bench.sif."""
    (tmp_path / "bench.sif").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BENCH_RESULTS", raising=False)

    def call(*arguments: str, suite: str = "smoke", image: str | None = "bench.sif") -> Done:
        of_image = [] if image is None else ["--image", image]
        monkeypatch.setattr(sys, "argv", ["bench", "batch", suite, *of_image, *arguments])
        return Done(bench.cli.run_command(), *capsys.readouterr())

    return call
