"""Linear layers in float8: near the exact product, in forward and backward, and refused where they cannot be."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from bench.common.errors import InputError
from bench.train import float8

CPU = torch.device("cpu")


def relative(found: torch.Tensor, exact: torch.Tensor) -> float:
    return float((found.float() - exact).norm() / exact.norm())


def test_products_and_gradients_differ_from_the_exact_ones_by_the_formats_rounding() -> None:
    torch.manual_seed(0)
    layer, x = nn.Linear(64, 48), torch.randn(4, 8, 64, requires_grad=True)
    exact = layer(x)
    gradient = torch.randn_like(exact)
    wanted = torch.autograd.grad(exact, (x, layer.weight, layer.bias), gradient)
    float8.use([nn.Sequential(layer)], CPU)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = layer(x)
    assert found.dtype == torch.bfloat16
    # e4m3 has 4 significant bits, e5m2 has 3; bf16 alone differs by less than 0.01
    assert 0.02 < relative(found, exact) < 0.06
    of_x, of_weight, of_bias = torch.autograd.grad(found, (x, layer.weight, layer.bias), gradient.bfloat16())
    assert 0.03 < relative(of_x, wanted[0]) < 0.09
    assert 0.03 < relative(of_weight, wanted[1]) < 0.09
    assert relative(of_bias, wanted[2]) < 0.01


def test_a_tensor_of_zeros_stays_zero() -> None:
    layer = nn.Linear(16, 16, bias=False)
    float8.use([layer], CPU)
    assert torch.equal(layer(torch.zeros(16, 16)), torch.zeros(16, 16))


def test_layers_of_other_sizes_are_left_as_they_are() -> None:
    sizes = [(16, 32), (16, 30), (20, 32)]
    block = nn.Sequential(*(nn.Linear(*size) for size in sizes))
    assert float8.layers([block]) == [block[0]]


def test_a_micro_batch_of_another_size_is_refused_with_its_rows() -> None:
    layer = nn.Linear(16, 16)
    float8.use([layer], CPU)
    with pytest.raises(
        InputError, match=r"a multiple of 16 rows \(examples x tokens\), but a rank's micro-batch has 12"
    ):
        layer(torch.zeros(3, 4, 16))


@pytest.mark.gpu
def test_a_gpu_computes_the_same_product_or_says_that_it_cannot() -> None:
    torch.manual_seed(0)
    layer, x = nn.Linear(64, 48, device="cuda"), torch.randn(32, 64, device="cuda", requires_grad=True)
    exact = layer(x)
    if torch.cuda.get_device_capability() < (8, 9):
        with pytest.raises(InputError, match=r"needs a GPU of compute capability 8\.9 or more"):
            float8.use([layer], torch.device("cuda"))
        return
    float8.use([layer], torch.device("cuda"))
    with torch.autocast("cuda", dtype=torch.bfloat16):
        found = layer(x)
    assert 0.02 < relative(found, exact) < 0.06
    found.sum().backward()
    assert relative(layer.bias.grad, torch.full((48,), 32.0, device="cuda")) < 0.01  # type: ignore[arg-type]
