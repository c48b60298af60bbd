"""Ranks that divide the sequences train the same as one rank; on a CPU with a rule of the test for its attention."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

RANKS = Path(__file__).with_name("ranks_of_a_ring.py")
WHOLE: tuple[int, dict[str, int]] = 1, {}
DIVIDED = [(2, {"cp": 2}), (4, {"cp": 2, "tp": 2}), (4, {"cp": 2, "dp_shard": 2})]
"""World size and mesh of each group of ranks."""


@pytest.fixture(scope="module")
def losses(tmp_path_factory: pytest.TempPathFactory) -> list[np.ndarray[Any, Any]]:
    """[steps] float64 of `WHOLE` and of each group in `DIVIDED`: the mean over ranks of the losses of two steps and of
    an evaluation. One process imports torch and forks all of the ranks."""
    folder = tmp_path_factory.mktemp("ring")
    groups = json.dumps([WHOLE, *DIVIDED])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(RANKS), groups, str(folder)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = []
    for group, (world, _) in enumerate([WHOLE, *DIVIDED]):
        files = [folder / f"{group}.{rank}.json" for rank in range(world)]
        assert all(file.exists() for file in files), done.stderr
        found.append(np.mean([json.loads(file.read_text()) for file in files], axis=0))
    return found


@pytest.mark.parametrize("group", range(len(DIVIDED)), ids=map(str, DIVIDED))
def test_divided_sequences_train_the_same_as_whole_ones(
    losses: list[np.ndarray[Any, Any]], group: int
) -> None:
    single, *divided = losses
    np.testing.assert_allclose(divided[group], single, rtol=2e-6)
    assert single[0] - single[1] > 1e-3
