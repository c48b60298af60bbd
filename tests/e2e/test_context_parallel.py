"""Ranks that divide the sequences train the same as one rank; on a CPU with a rule of the test for its attention."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

RANKS = Path(__file__).with_name("ranks_of_a_ring.py")


def losses(world: int, **sizes: int) -> list[float]:
    """The mean over ranks of the losses of two steps and of an evaluation."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(world)]
    done = subprocess.run(
        [*command, str(RANKS), json.dumps(sizes)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    printed = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert len(printed) == world
    return list(np.mean(printed, axis=0))


@pytest.mark.parametrize(
    ("world", "sizes"), [(2, {"cp": 2}), (4, {"cp": 2, "tp": 2}), (4, {"cp": 2, "dp_shard": 2})]
)
def test_divided_sequences_train_the_same_as_whole_ones(world: int, sizes: dict[str, int]) -> None:
    single = losses(1)
    np.testing.assert_allclose(losses(world, **sizes), single, rtol=2e-6)
    assert single[0] - single[1] > 1e-3
