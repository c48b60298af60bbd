"""Losses that a workload names besides the one it trains: means over micro-batches, one row per training step."""

from __future__ import annotations

import torch

from bench.train.named_losses import NamedLosses


def test_a_step_has_the_mean_over_its_micro_batches_and_no_row_after_the_training() -> None:
    kept = NamedLosses(3, torch.device("cpu"))
    for values in ([1.0, 3.0], [5.0, 5.0], [], [9.0, 9.0]):
        for value in values:
            kept.add({"loss": torch.tensor(100.0), "part": torch.tensor(value, requires_grad=True)})
        kept.step_done(2)
    rows = kept.rows()
    assert rows["name"].tolist() == [b"part"] * 3
    assert rows["step"].tolist() == [0, 1, 2]
    assert rows["loss"].tolist()[:2] == [2.0, 5.0]
    assert rows["loss"][2] != rows["loss"][2]  # NaN: this step did not name it


def test_without_names_there_are_no_rows() -> None:
    kept = NamedLosses(3, torch.device("cpu"))
    kept.step_done(1)
    assert len(kept.rows()) == 0
