"""Losses that a workload names besides the one it trains: means over micro-batches, one row per training step."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from bench.train.named_losses import NamedLosses


def kept_of(steps: int) -> tuple[NamedLosses, list[np.ndarray[Any, np.dtype[Any]]]]:
    stored: list[np.ndarray[Any, np.dtype[Any]]] = []
    return NamedLosses(steps, torch.device("cpu"), stored.append), stored


def test_a_step_has_the_mean_over_its_micro_batches_and_no_row_after_the_training() -> None:
    kept, stored = kept_of(3)
    for completed, values in enumerate(([1.0, 3.0], [5.0, 5.0], [], [9.0, 9.0]), start=1):
        for value in values:
            kept.add({"loss": torch.tensor(100.0), "part": torch.tensor(value, requires_grad=True)})
        kept.step_done(2)
        kept.store(completed)
    rows = np.concatenate(stored)
    assert rows["name"].tolist() == [b"part"] * 3
    assert rows["step"].tolist() == [0, 1, 2]
    assert rows["loss"].tolist()[:2] == [2.0, 5.0]
    assert rows["loss"][2] != rows["loss"][2]  # NaN: this step did not name it


def test_a_step_is_stored_once_the_device_has_passed_it_with_every_name_that_is_known_then() -> None:
    kept, stored = kept_of(4)
    for step, completed in enumerate((0, 0, 2, 3)):
        names = {"a": torch.tensor(float(step))} | ({"b": torch.tensor(10.0 + step)} if step > 1 else {})
        kept.add({"loss": torch.tensor(0.0), **names})
        kept.step_done(1)
        kept.store(completed)
    kept.store(4)
    kept.store(1)  # the clock of later steps has its own count
    kept.store(9)
    assert [rows["step"].tolist() for rows in stored] == [[0, 0, 1, 1], [2, 2], [3, 3]]
    assert np.concatenate(stored)["name"].tolist() == [b"a", b"b"] * 4
    np.testing.assert_equal(np.concatenate(stored)["loss"], [0.0, np.nan, 1.0, np.nan, 2.0, 12.0, 3.0, 13.0])


def test_without_names_there_are_no_rows() -> None:
    kept, stored = kept_of(3)
    kept.step_done(1)
    kept.store(1)
    assert stored == []
