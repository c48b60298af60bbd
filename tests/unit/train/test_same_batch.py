"""Ranks must train on different examples, except those that share a batch, which must have the same."""

from __future__ import annotations

import pytest

from bench.train.rank import same_batch


@pytest.mark.parametrize(
    ("digests", "ranks_per_batch", "same"),
    [
        ([5], 1, None),
        ([5, 6], 1, False),
        ([5, 5], 1, True),
        ([0, 0], 1, False),  # unreadable batches
        ([5, 5], 2, None),
        ([5, 5, 6, 6], 2, False),
        ([5, 5, 5, 5], 2, True),
        ([5, 5, 5, 5], 4, None),
    ],
)
def test_only_batches_of_different_groups_are_compared(
    digests: list[int], ranks_per_batch: int, same: bool | None
) -> None:
    assert same_batch(digests, ranks_per_batch) is same


def test_ranks_that_should_share_a_batch_and_did_not_are_named() -> None:
    with pytest.raises(RuntimeError, match="ranks 2 to 3 share a batch"):
        same_batch([5, 5, 6, 7], 2)
