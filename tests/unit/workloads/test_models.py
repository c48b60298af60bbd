from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch._dynamo.backends.common import aot_autograd

from bench import workloads
from bench.models.cnn import Cnn
from bench.models.diffusion import amplitudes
from bench.models.keyed_dropout import KeyedDropout
from bench.models.mlp import Mlp
from bench.models.unet import Unet
from bench.models.unet_layers import Attention, ResBlock
from tests.unit.workloads.runs import workload


def parameters(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def unet(**options: Any) -> Unet:
    model = workload("ddpm_unet", **options).model()
    assert isinstance(model, Unet)
    return model


@pytest.mark.parametrize(("preset", "count"), [("small", 12_301_827), ("original", 35_746_307)])
def test_the_presets_have_their_published_sizes(preset: str, count: int) -> None:
    kind = workloads.load("ddpm_unet")
    with torch.device("meta"):
        model = kind(kind.Options(preset=preset), "synthetic", None, 0).model()
    assert parameters(model) == count


def test_the_original_attends_at_16_by_16_and_in_the_middle() -> None:
    kind = workloads.load("ddpm_unet")
    with torch.device("meta"):
        model = kind(kind.Options(preset="original"), "synthetic", None, 0).model()
    assert sum(isinstance(module, Attention) for module in model.modules()) == 2 + 1 + 3
    assert sum(isinstance(module, ResBlock) for module in model.modules()) == 4 * 2 + 2 + 4 * 3


def test_the_small_models_have_their_sizes() -> None:
    assert parameters(Mlp(2, [64, 32, 16], 3)) == 192 + 2080 + 528 + 51
    assert parameters(Cnn()) == 320 + 18_496 + 401_536 + 1_290


class Passing(torch.nn.Module):
    """Predicts its input."""

    def forward(self, x: torch.Tensor, *_others: torch.Tensor) -> torch.Tensor:
        return x


@pytest.mark.parametrize(("name", "model"), [("resnet50", torch.nn.Flatten()), ("ddpm_unet", Passing())])
def test_a_compiled_loss_is_traced_once_and_keeps_no_tensor_that_it_made(
    name: str, model: torch.nn.Module
) -> None:
    """In the pool of a CUDA graph, such a tensor would be overwritten by the next step."""
    made = workload(name)
    traced: list[torch.fx.GraphModule] = []

    def count(graph: torch.fx.GraphModule, _inputs: list[torch.Tensor]) -> Any:
        traced.append(graph)
        return graph.forward

    compiled = torch.compile(made.loss, backend=aot_autograd(fw_compiler=count))
    for step in range(3):
        places = torch.arange(4) + step
        batch = made.batch(places, places)
        assert torch.equal(compiled(model, batch), made.loss(model, batch))
    assert len(traced) == 1


def test_an_untrained_unet_predicts_nothing_and_adds_nothing() -> None:
    torch.manual_seed(0)
    model, x = unet(), torch.randn(2, 3, 8, 8)
    assert torch.equal(model(x, torch.tensor([0, 999]), torch.arange(2)), torch.zeros(2, 3, 8, 8))
    block = ResBlock(32, 32, 128, KeyedDropout(0.0, 0))
    torch.nn.init.zeros_(block.conv2.weight)
    torch.nn.init.zeros_(block.conv2.bias)
    features = torch.randn(2, 32, 4, 4)
    assert torch.equal(block(features, torch.randn(2, 128), torch.arange(2)), features)


def test_the_time_step_reaches_the_prediction() -> None:
    torch.manual_seed(0)
    model, x = unet(), torch.randn(1, 3, 8, 8)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    early, late = (model(x, torch.tensor([step]), torch.tensor([0])) for step in (0, 999))
    assert not torch.allclose(early, late)


def test_memory_layout_changes_no_prediction() -> None:
    torch.manual_seed(0)
    nhwc, nchw = unet(channels_last=True), unet(channels_last=False)
    for parameter in nhwc.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    for there, here in zip(nchw.parameters(), nhwc.parameters(), strict=True):
        there.data.copy_(here.movedim(-1, 1) if here.dim() == 4 else here)  # [outputs, 3, 3, inputs] of NHWC
    x, steps = torch.randn(2, 3, 8, 8), torch.tensor([10, 500])
    torch.testing.assert_close(nhwc(x, steps, steps), nchw(x, steps, steps), rtol=1e-3, atol=1e-4)
    assert all(parameter.is_contiguous() for parameter in nhwc.parameters())


def test_memory_layout_changes_no_initial_weight() -> None:
    models = []
    for channels_last in (True, False):
        torch.manual_seed(0)
        models.append(unet(channels_last=channels_last))
    for nhwc, nchw in zip(*(model.parameters() for model in models), strict=True):
        assert torch.equal(nhwc.movedim(-1, 1) if nhwc.dim() == 4 else nhwc, nchw)


def layouts(device: str) -> set[bool]:
    """Whether the input of each 3x3 convolution but the first was NHWC."""
    model, seen = unet(channels_last=True).to(device), set()
    for module in model.modules():
        if isinstance(module, torch.nn.Conv2d) and module is not model.stem:
            module.register_forward_pre_hook(
                lambda _, inputs: seen.add(inputs[0].is_contiguous(memory_format=torch.channels_last))
            )
    steps = torch.tensor([10, 500], device=device)
    model(torch.randn(2, 3, 8, 8, device=device), steps, steps)
    return seen


def test_activations_stay_nhwc() -> None:
    assert layouts("cpu") == {True}


@pytest.mark.gpu
def test_activations_stay_nhwc_on_a_gpu() -> None:
    assert layouts("cuda") == {True}


def test_every_block_of_a_model_is_a_part_of_it_and_none_holds_another() -> None:
    for name in workloads.trained():
        made = workload(name)
        model = made.model()
        blocks = made.blocks(model)
        assert blocks
        inside = [id(module) for block in blocks for module in block.modules()]
        assert len(inside) == len(set(inside)), name
        assert set(inside) <= {id(module) for module in model.modules()}


def test_a_dropout_mask_hangs_on_seed_stream_and_key_and_not_on_the_batch() -> None:
    layer, x, keys = KeyedDropout(0.25, seed=4), torch.ones(64, 8, 4, 4), torch.arange(64)
    whole = layer(x, keys)
    assert torch.equal(torch.cat([layer(x[:5], keys[:5]), layer(x[5:], keys[5:])]), whole)
    assert sorted(whole.unique().tolist()) == pytest.approx([0, 4 / 3])
    assert float((whole == 0).double().mean()) == pytest.approx(0.25, abs=0.02)
    layer.stream = 1
    assert not torch.equal(layer(x, keys), whole)
    layer.eval()
    assert torch.equal(layer(x, keys), x)


def test_each_dropout_layer_of_a_unet_has_a_stream_of_its_own() -> None:
    layers = [module for module in unet(dropout=0.1).modules() if isinstance(module, KeyedDropout)]
    assert [layer.stream for layer in layers] == list(range(16, 24))
    assert {layer.p for layer in layers} == {0.1}


def test_the_diffusion_schedule_is_the_papers() -> None:
    signal, noise = amplitudes.on(torch.device("cpu"))
    assert float(signal[0] ** 2) == pytest.approx(1 - 1e-4, abs=1e-7)
    assert float(signal[-1] ** 2) == pytest.approx(4.0358e-5, rel=1e-3)  # "alpha bar" at T
    torch.testing.assert_close(signal**2 + noise**2, torch.ones(1000))


@pytest.mark.parametrize("hidden", [(5,), (16, 16, 16, 16, 16), (128, 3)])
def test_spirals_train_and_validate_with_any_list_of_hidden_layers(hidden: tuple[int, ...]) -> None:
    made = workload("spiral_mlp", hidden=hidden)
    model = made.model()
    widths = [2, *hidden, 3]
    expected = sum(inputs * outputs + outputs for inputs, outputs in itertools.pairwise(widths))
    assert sum(parameter.numel() for parameter in model.parameters()) == expected
    made.loss(model, made.batch(torch.arange(8), torch.arange(8))).backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    loss, correct = made.evaluate(model, made.validation_batch([0, 1_999]))
    assert (loss.shape, set(correct.tolist()) <= {0.0, 1.0}) == ((2,), True)
