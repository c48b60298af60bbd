from __future__ import annotations

import pytest
import torch

from bench.data.order import Order, positions


def test_a_rank_takes_a_contiguous_slice_cut_into_micro_batches() -> None:
    assert positions(3, 1, 2, 8, 2) == [range(56, 60), range(60, 64)]


@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("world", [1, 2, 4])
def test_the_union_over_ranks_is_the_same_at_every_world_size(world: int, accumulate: int) -> None:
    global_batch = 16
    for step in range(5):
        spans = [
            span
            for rank in range(world)
            for span in positions(step, rank, world, global_batch // world, accumulate)
        ]
        assert len(spans) == world * accumulate
        seen = [position for span in spans for position in span]
        assert seen == list(range(step * global_batch, (step + 1) * global_batch))


def test_every_epoch_holds_every_example_once_in_another_order() -> None:
    order = Order(100, seed=7)
    first, second = order.places(range(100)), order.places(range(100, 200))
    assert sorted(first.tolist()) == list(range(100))
    assert sorted(second.tolist()) == list(range(100))
    assert not torch.equal(first, second)


def test_a_batch_straddles_two_epochs_without_loss() -> None:
    whole, order = Order(10, seed=1), Order(10, seed=1)
    expected = [*whole.places(range(10)).tolist(), *whole.places(range(10, 20)).tolist()]
    assert order.places(range(7, 14)).tolist() == expected[7:14]


def test_a_batch_may_hold_several_epochs_of_a_tiny_data_set() -> None:
    whole, order = Order(3, seed=1), Order(3, seed=1)
    expected = [
        place for start in range(0, 12, 3) for place in whole.places(range(start, start + 3)).tolist()
    ]
    assert order.places(range(1, 12)).tolist() == expected[1:12]


def test_the_order_hangs_on_the_seed_alone() -> None:
    assert torch.equal(Order(1000, seed=5).places(range(50)), Order(1000, seed=5).places(range(50)))
    assert not torch.equal(Order(1000, seed=5).places(range(50)), Order(1000, seed=6).places(range(50)))
