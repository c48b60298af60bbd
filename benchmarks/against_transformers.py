"""Compare a training step of transformer_lm under bench with transformers' GPT-2 under accelerate, of equal shape.

Ours is the measured loop with clock and recorder. Theirs is the loop of accelerate's manual: prepare(), a loader,
forward with labels, accelerator.backward, optimizer, zero_grad. Layers, heads, widths, vocabulary, sequence, batch and
AdamW are equal; neither has dropout. Theirs has learnt positions and biases; ours rotates queries and keys (RoPE).
GPT-2's default GELU is written in Python; the second row uses PyTorch's own.

    uv sync --all-extras --group dev --group benchmarks
    python benchmarks/against_transformers.py [--shape 124m] [--device cuda] [--precision bf16] [--seconds 60]
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import interleaved
import one_rank
import plain
import torch

_STEPS = 100_000
"""Upper limit; no run takes that many."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Sizes that both models support."""

    layers: int
    d_model: int
    heads: int
    sequence: int
    vocabulary: int
    batch: int


SHAPES = {
    "small": Shape(layers=4, d_model=128, heads=4, sequence=128, vocabulary=256, batch=4),
    "10m": Shape(layers=6, d_model=384, heads=6, sequence=128, vocabulary=256, batch=2),
    "124m": Shape(layers=12, d_model=768, heads=12, sequence=128, vocabulary=50_304, batch=1),
    "124m-1024": Shape(layers=12, d_model=768, heads=12, sequence=1_024, vocabulary=50_304, batch=8),
}
"""`124m`: GPT-2 small on short sequences, some seconds a step on one core of a CPU; `124m-1024` is for a GPU."""
ACTIVATIONS = ("gelu_new", "gelu_pytorch_tanh")


def theirs(shape: Shape, activation: str, tokens: torch.Tensor, asked: argparse.Namespace) -> Step:
    from accelerate import Accelerator
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=shape.vocabulary,
        n_positions=shape.sequence,
        n_embd=shape.d_model,
        n_layer=shape.layers,
        n_head=shape.heads,
        activation_function=activation,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        use_cache=False,  # only useful in inference
        bos_token_id=0,
        eos_token_id=0,
    )
    torch.manual_seed(0)
    model = GPT2LMHeadModel(config).train()
    precision = "no" if asked.precision == "fp32" else asked.precision
    accelerator = Accelerator(cpu=asked.device == "cpu", mixed_precision=precision)
    return Step(accelerator, model, tokens, shape.batch)


class Step:
    """One optimizer step, as in accelerate's manual."""

    def __init__(self, accelerator: Any, model: torch.nn.Module, tokens: torch.Tensor, batch: int) -> None:
        self.accelerator = accelerator
        self.parameters = plain.parameters(model)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        loader: Any = torch.utils.data.DataLoader(
            cast(Any, tokens), batch_size=batch, shuffle=True, drop_last=True
        )
        self.model, self.optimizer, self.loader = accelerator.prepare(model, optimizer, loader)
        self.batches = self._endless()

    def _endless(self) -> Iterator[torch.Tensor]:
        while True:
            yield from self.loader

    def __call__(self) -> None:
        tokens = next(self.batches)
        outputs = self.model(input_ids=tokens, labels=tokens)
        self.accelerator.backward(outputs.loss)
        self.optimizer.step()
        self.optimizer.zero_grad()


def compare(name: str, asked: argparse.Namespace) -> None:
    shape, device = SHAPES[name], torch.device(asked.device)
    options = {
        "layers": shape.layers, "d_model": shape.d_model, "heads": shape.heads,
        "sequence_length": shape.sequence, "vocab_size": shape.vocabulary, "validation_examples": 0,
    }  # fmt: skip
    loop = one_rank.training(
        "transformer_lm", options, batch=shape.batch, steps=_STEPS, device=device, precision=asked.precision
    )
    keys = torch.arange(loop.workload.dataset_size)
    tokens = loop.workload.batch(keys, keys)["tokens"][:, :-1].long()
    print(f"{name}: ours {plain.parameters(loop.model):,} parameters")
    with tempfile.TemporaryDirectory() as folder:
        first = one_rank.block(loop, one_rank.clock(device, Path(folder), _STEPS))
        for activation in ACTIVATIONS:
            other = theirs(shape, activation, tokens, asked)
            print(f"GPT-2 with {activation}, {other.parameters:,} parameters:")
            times = interleaved.measure(first, plain.block(other, asked.device), seconds=asked.seconds)
            print(interleaved.row("", times), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=sorted(SHAPES), action="append", help="[default: small and 10m]")
    parser.add_argument("--seconds", type=float, default=60, help="per shape and row")
    plain.add_options(parser)
    asked = parser.parse_args()
    plain.settle(asked)
    print(interleaved.HEAD)
    for name in asked.shape or ("small", "10m"):
        compare(name, asked)


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing is asked of any network
    main()
