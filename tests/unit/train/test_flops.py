"""FLOPs of a step compared with counts by hand and with published ones."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from bench import workloads
from bench.train import flops


def prepared(name: str, source: str = "synthetic", **options: object) -> workloads.Workload:
    kind = workloads.load(name)
    made = kind(kind.Options(**options), source, None, 0)
    made.prepare()
    return made


def made(kind: type[workloads.Workload]) -> workloads.Workload:
    return kind(kind.Options(), "synthetic", None, 0)


class Contrast(workloads.Workload):
    """Every example is compared with every other one of its micro-batch."""

    dataset_size = 100

    def model(self) -> nn.Module:
        return nn.Linear(3, 5, bias=False)

    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> workloads.Batch:
        return {"points": torch.zeros(len(places), 3)}

    def loss(self, model: nn.Module, batch: workloads.Batch) -> torch.Tensor:
        points = model(batch["points"])
        return (points @ points.T).logsumexp(1).mean()


class Recurrent(Contrast):
    def model(self) -> nn.Module:
        return nn.LSTM(3, 4, batch_first=True)

    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> workloads.Batch:
        return {"points": torch.zeros(len(places), 2, 3)}

    def loss(self, model: nn.Module, batch: workloads.Batch) -> torch.Tensor:
        return model(batch["points"])[0].mean()


class Scale(Contrast):
    def model(self) -> nn.Module:
        return nn.LayerNorm(3)

    def loss(self, model: nn.Module, batch: workloads.Batch) -> torch.Tensor:
        return model(batch["points"]).mean()


def test_a_perceptron_has_twice_its_weights_forward_and_four_times_backward_but_for_its_input() -> None:
    weights = 2 * 64 + 64 * 32 + 32 * 16 + 16 * 3
    assert flops.count(prepared("spiral_mlp"), 8) == {"per_example": 6 * weights - 2 * 2 * 64}


def test_gpt_2_small_has_six_flops_per_weight_and_token_and_its_attention_in_full() -> None:
    """PaLM, appendix B: 6 N + 12 L H Q T per token. N without the norms, which are no products."""
    layers, width, tokens, vocabulary = 12, 768, 1_024, 50_304
    weights = layers * 12 * width**2 + width * vocabulary
    per_token = 6 * weights + 12 * layers * width * tokens
    counted = flops.count(prepared("transformer_lm", preset="124m", validation_examples=0), 8)
    assert counted == {"per_example": tokens * per_token}
    assert counted["per_example"] == 875_166_695_424


def test_resnet50_has_the_published_multiplications_three_times() -> None:
    """4.09 GMACs: torchvision's table. The pictures need no gradient, and are themselves made by a product."""
    first_layer, pictures = 64 * 3 * 7 * 7 * 112 * 112, 3 * 16 * 224 * 224
    multiplications = (flops.count(prepared("resnet50"), 8)["per_example"] / 2 - pictures + first_layer) / 3
    assert multiplications == 4_089_184_256


@pytest.mark.parametrize("micro_batch", [6, 10])
def test_what_grows_faster_than_the_batch_is_counted_at_the_micro_batch(micro_batch: int) -> None:
    linear, product = 2 * 15 * micro_batch, 2 * 5 * micro_batch**2
    assert flops.count(made(Contrast), micro_batch) == {"per_micro_batch": 2 * linear + 3 * product}


def test_an_lstm_is_counted_as_the_products_of_its_gates() -> None:
    inputs, hidden = 2 * 3 * 4 * 4, 2 * 4 * 4 * 4
    no_gradients = inputs + hidden // 2  # of the input and of the initial state
    expected = 2 * (3 * (inputs + hidden) - no_gradients)
    assert flops.count(made(Recurrent), 2) == {"per_example": expected}


def test_a_model_without_products_has_no_count_rather_than_none_to_do() -> None:
    assert "none of the operations" in flops.count(made(Scale), 2)["note"]
