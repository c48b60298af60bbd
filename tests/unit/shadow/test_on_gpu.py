"""torch's ways on a GPU hold only for the steps of a shadow."""

from __future__ import annotations

import pytest
import torch

from bench.shadow.on_gpu import steps_of_a_gpu


def dtypes() -> tuple[torch.dtype, torch.dtype]:
    """The types of a sum and of an enlarged picture, under autocast on a CPU."""
    numbers = torch.ones(1, 1, 4, dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return numbers.sum().dtype, torch.nn.functional.interpolate(numbers, 8, mode="nearest-exact").dtype


def test_autocast_computes_as_on_a_gpu_and_afterwards_as_on_a_cpu() -> None:
    before = dtypes()
    with steps_of_a_gpu():
        assert dtypes() == (torch.float32, torch.float32)
        assert torch.get_autocast_dtype("cpu") is torch.bfloat16
    assert dtypes() == before == (torch.bfloat16, torch.bfloat16)


def test_torch_is_as_before_also_after_an_error() -> None:
    with pytest.raises(ValueError, match="of the model"), steps_of_a_gpu():
        raise ValueError("of the model")
    assert dtypes() == (torch.bfloat16, torch.bfloat16)
