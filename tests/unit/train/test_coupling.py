"""Which models have no verdict on whether world sizes train alike."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from torch import nn

from bench.train.rank import _couples_examples


def _model(norm):
    return nn.Sequential(nn.Conv2d(3, 8, 1), nn.Sequential(norm, nn.ReLU()))


@pytest.mark.parametrize(
    ("norm", "couples"),
    [
        (nn.BatchNorm2d(8), True),
        (nn.SyncBatchNorm(8), False),  # of the batch of all ranks
        (nn.GroupNorm(2, 8), False),
        (nn.InstanceNorm2d(8), False),
        (nn.Identity(), False),
    ],
)
def test_statistics_of_a_ranks_own_batch_couple_its_examples(norm, couples):
    assert _couples_examples(SimpleNamespace(couples_examples=False), _model(norm)) is couples


def test_a_workload_says_that_its_loss_couples_examples():
    assert _couples_examples(SimpleNamespace(couples_examples=True), _model(nn.Identity())) is True
