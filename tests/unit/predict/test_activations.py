"""Memory that forward and backward keep, computed from shapes and compared with figures worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

from bench.common.errors import InputError
from bench.predict.activations import StepOptions, size_of, working_set
from bench.workloads._custom import WORKLOAD

if TYPE_CHECKING:
    from bench.workloads import Batch, Workload

EXAMPLES, IN, HIDDEN, OUT = 16, 4, 8, 2
FLOAT = 4


class Mlp:
    """4 -> 8 -> 2, and the mean square of what comes out."""

    def model(self) -> nn.Module:
        return nn.Sequential(nn.Linear(IN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, OUT))

    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> Batch:
        return {"x": torch.ones(len(places), IN)}

    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        outputs: torch.Tensor = model(batch["x"])
        return outputs.square().mean()


class Looks(Mlp):
    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        outputs: torch.Tensor = model(batch["x"])
        return outputs.mean() * outputs.max().item()


def workload(kind: type[Any] = Mlp) -> Workload:
    whole: Any = WORKLOAD.complete(kind, "test.py:Mlp")
    return whole(whole.Options(), "synthetic", None, 0)


def options(**changes: Any) -> StepOptions:
    return StepOptions(
        **{"device_type": "cpu", "precision": "fp32", "gathered": None, "checkpointing": False} | changes
    )


def test_a_model_is_counted_by_parameters_and_blocks() -> None:
    size = size_of(workload())
    assert size.parameters == (IN + 1) * HIDDEN + (HIDDEN + 1) * OUT
    assert size.parameter_bytes == FLOAT * size.parameters
    assert size.block_parameters == [(IN + 1) * HIDDEN, (HIDDEN + 1) * OUT]
    assert size.units == 2  # no parameter is outside the blocks
    assert size.rest_parameters == 0


def test_forward_keeps_the_batch_what_relu_gave_what_came_out_and_the_loss() -> None:
    kept = working_set(workload(), EXAMPLES, options()).kept_bytes
    assert kept == FLOAT * (EXAMPLES * (IN + HIDDEN + OUT) + 1)


def test_the_peak_is_where_relu_has_its_input_and_its_output() -> None:
    # the loss's gradient is small here: backward stays below forward
    found = working_set(workload(), EXAMPLES, options())
    assert found.peak_bytes >= FLOAT * EXAMPLES * (IN + 2 * HIDDEN)
    assert found.peak_with_gradients_bytes >= found.peak_bytes


def test_what_is_kept_grows_in_proportion_to_the_examples() -> None:
    one, two = (
        working_set(workload(), size, options()).kept_bytes - FLOAT for size in (EXAMPLES, 2 * EXAMPLES)
    )
    assert two == 2 * one


def test_bf16_halves_activations_and_keeps_a_copy_of_each_weight() -> None:
    kept = working_set(workload(), EXAMPLES, options(precision="bf16")).kept_bytes
    # the batch in fp32 and in bf16, and the results of relu and the last layer; autocast keeps its copies of the
    # weights that backward needs, but not the first layer's, since its input needs no gradient
    results = EXAMPLES * (FLOAT * IN + 2 * (IN + HIDDEN + OUT))
    assert kept >= results
    assert kept <= results + 2 * size_of(workload()).parameters + 64 * FLOAT


def test_a_gpu_that_is_not_there_keeps_what_a_cpu_keeps() -> None:
    # the same model in fp32: no kernel keeps additional data
    on_cpu, on_gpu = (
        working_set(workload(), EXAMPLES, options(device_type=kind)) for kind in ("cpu", "cuda")
    )
    assert on_gpu == on_cpu


class WithBatchNorm(Mlp):
    def model(self) -> nn.Module:
        return nn.Sequential(nn.Linear(IN, HIDDEN), nn.BatchNorm1d(HIDDEN), nn.Linear(HIDDEN, OUT))


def test_buffers_that_are_constants_need_no_gpu_either() -> None:
    # BatchNorm counts its batches in one
    kept = working_set(workload(WithBatchNorm), EXAMPLES, options(device_type="cuda")).kept_bytes
    assert kept >= FLOAT * EXAMPLES * (IN + HIDDEN + OUT)


def test_recomputed_blocks_keep_their_inputs_only() -> None:
    kept = working_set(workload(), EXAMPLES, options(checkpointing=True)).kept_bytes
    assert kept == FLOAT * (EXAMPLES * (IN + HIDDEN + OUT) + 1)


def test_kept_products_are_not_recomputed() -> None:
    recomputed, products, everything = (
        working_set(workload(), EXAMPLES, options(checkpointing=kept)).kept_bytes
        for kept in (True, "keep_matmuls", False)
    )
    # the second product is what comes out, which lives in any case
    assert products - recomputed == FLOAT * EXAMPLES * HIDDEN
    assert everything <= products


def test_a_model_without_parameters_is_refused() -> None:
    class Bare(Mlp):
        def model(self) -> nn.Module:
            return nn.ReLU()

    with pytest.raises(InputError, match="no parameters"):
        size_of(workload(Bare))
