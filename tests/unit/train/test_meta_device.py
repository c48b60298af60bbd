"""Shapes of models and batches, without memory and without arithmetic."""

from __future__ import annotations

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor

from bench import workloads
from bench.train import meta_device


def workload(name: str, source: str = "synthetic", **options: object) -> workloads.Workload:
    kind = workloads.load(name)
    made = kind(kind.Options(**options), source, None, 0)
    made.prepare()
    return made


def test_a_model_of_seven_billion_parameters_takes_no_memory_and_its_tied_weight_is_one() -> None:
    options = {"sequence_length": 8, "vocab_size": 32_000, "validation_examples": 0}
    with meta_device.shapes() as shapes:
        model = shapes.model(workload("transformer_lm", preset="7b", **options))
        embedding = 32_000 * 4_096
        layer = 12 * 4_096**2 + 2 * 4_096
        assert sum(part.numel() for part in model.parameters()) == embedding + 32 * layer + 4_096
        assert all(
            isinstance(part, FakeTensor) or isinstance(part.data, FakeTensor) for part in model.parameters()
        )


def test_a_batch_has_the_shapes_of_a_real_one_also_where_there_are_fewer_examples() -> None:
    digits = workload("mnist_cnn", "digits")
    with meta_device.shapes() as shapes:
        batch = shapes.batch(digits, digits.dataset_size + 3)
    assert {name: len(tensor) for name, tensor in batch.items()} == dict.fromkeys(
        batch, digits.dataset_size + 3
    )


def test_a_model_whose_weights_are_drawn_by_looking_at_them_has_shapes_too() -> None:
    with meta_device.shapes() as shapes:
        model = shapes.model(workload("vit_b_16", image_size=32))
        assert {part.device.type for part in model.parameters()} == {"cpu"}
        assert all(part.requires_grad for part in model.parameters())


def test_a_loss_that_looks_at_values_cannot_be_worked_out() -> None:
    with meta_device.shapes() as shapes:
        batch = shapes.batch(workload("spiral_mlp"), 2)
        with pytest.raises(RuntimeError, match="_local_scalar_dense"):
            torch.stack([tensor.float().sum() for tensor in batch.values()]).sum().item()
