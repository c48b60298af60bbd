"""transformer_lm: a decoder-only Transformer learns to predict the next token (GPT-2's shape, with RoPE)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Ge, Le, Lt

from bench import workloads
from bench.common.errors import InputError
from bench.workloads import _presets

if TYPE_CHECKING:
    import torch
    from torch import nn
    from torch.distributed.tensor.parallel import ParallelStyle

    from bench.workloads import Batch

_BYTES = 256
_SYNTHETIC = 4_096
_SYNTHETIC_TOKENS = 4_194_304
_FEWEST = 64
"""Generated sequences: _SYNTHETIC of them, or fewer if they have _SYNTHETIC_TOKENS tokens, but at least _FEWEST."""
_HELD_OUT_KEY = 1 << 40
"""Generated sequences from this key on are held out."""
_VALIDATION_TOKENS = 8_192
"""Tokens in one forward pass of validation: with a vocabulary of 50,304 the logits take 1.6 GB in float32."""


@dataclass(frozen=True, kw_only=True)
class TransformerLmOptions:
    """Parameters of transformer_lm; null values come from the preset."""

    preset: Literal["1m", "10m", "124m", "350m", "1b", "3b", "7b"] = "10m"
    """Approximate number of parameters. `124m`: GPT-2 small; `350m` to `7b`: the shapes of GPT-3's 350 M, 1.3 B, 2.7 B
    and 6.7 B; `1m` and `10m`: models with a vocabulary of bytes."""
    d_model: Annotated[int, Ge(2), Le(16_384)] | None = None
    """Width of the residual stream, a multiple of 2 x heads."""
    layers: Annotated[int, Ge(1), Le(256)] | None = None
    """Transformer layers; each is one unit of sharding and recomputation."""
    heads: Annotated[int, Ge(1), Le(256)] | None = None
    """Attention heads; d_model / heads must be even, because RoPE rotates pairs."""
    feed_forward: Annotated[int, Ge(1), Le(131_072)] | None = None
    """Width of each feed-forward layer. null: 4 x d_model."""
    sequence_length: Annotated[int, Ge(1), Le(65_536)] | None = None
    """Tokens per example."""
    vocab_size: Annotated[int, Ge(2), Le(1_048_576)] | None = None
    """50,304 (GPT-2's 50,257, rounded up to a multiple of 64) or 256 for bytes."""
    dropout: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Probability after the embedding and after both branches of a layer, not on attention weights; masks depend on
    (seed, example), never on the rank."""
    tie_embeddings: bool = True
    """Use the embedding's weight in the output layer too."""
    validation_examples: Annotated[int, Ge(0), Le(4_096)] = 64
    """Held-out sequences to validate on, at most."""
    data_seed: int = 0
    """Seed of generated text (source `synthetic`); a repeat's seed does not change it."""

    def __post_init__(self) -> None:
        _presets.fill(self, "transformer_lm", _PRESETS)
        assert self.d_model is not None
        assert self.heads is not None
        if self.feed_forward is None:
            object.__setattr__(self, "feed_forward", 4 * self.d_model)
        if self.d_model % (2 * self.heads):
            raise InputError(
                f"transformer_lm: d_model is {self.d_model}, heads {self.heads}: RoPE rotates pairs within a head, so "
                f"d_model must be a multiple of 2 x {self.heads} = {2 * self.heads}"
            )


def _preset(
    layers: int, d_model: int, heads: int, sequence_length: int = 1_024, vocab_size: int = 50_304
) -> dict[str, int]:
    return {
        "layers": layers,
        "d_model": d_model,
        "heads": heads,
        "sequence_length": sequence_length,
        "vocab_size": vocab_size,
    }


_PRESETS = {
    "1m": _preset(5, 128, 4, 128, _BYTES),
    "10m": _preset(6, 384, 6, 256, _BYTES),
    "124m": _preset(12, 768, 12),
    "350m": _preset(24, 1_024, 16),
    "1b": _preset(24, 2_048, 16),
    "3b": _preset(32, 2_560, 32),
    "7b": _preset(32, 4_096, 32),
}


class Workload(workloads.Workload):
    """Sequences of tokens. `text`: bytes of the *.txt files below --data [default: source code of Python's standard
    library]; or `synthetic`: up to 4,096 chains of tokens."""

    Options = TransformerLmOptions
    sources: ClassVar[tuple[str, ...]] = ("synthetic", "text")

    def __init__(self, options: TransformerLmOptions, source: str, data_root: str | None, seed: int) -> None:
        assert options.vocab_size is not None
        assert options.sequence_length is not None
        if source == "text" and options.vocab_size < _BYTES:
            raise InputError(
                f"transformer_lm: vocab_size is {options.vocab_size}: source text reads bytes, whose ids are 0 to "
                f"{_BYTES - 1}: it must be {_BYTES} or more"
            )
        super().__init__(options, source, data_root, seed)
        self._length = self.tokens_per_example = options.sequence_length
        self._vocab_size = options.vocab_size
        self._root = None if data_root is None else Path(data_root)
        self.largest_validation_batch = max(1, _VALIDATION_TOKENS // self._length)

    def prepare(self) -> None:
        self._sequences, self._held_out = self._text() if self.source == "text" else self._generated()
        self.dataset_size, self.validation_size = len(self._sequences), len(self._held_out)

    def _text(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Windows uint8 [N, T + 1], each sharing one token with the next; the last tenth of them is held out."""
        from bench.data.text import text_bytes

        text = text_bytes.read(self._root)
        if len(text) <= 2 * self._length:
            raise InputError(
                f"transformer_lm: {text_bytes.name_of(self._root)} has {len(text):,} bytes: with sequence_length "
                f"{self._length:,}, one sequence to train on and one to validate on need {2 * self._length + 1:,}"
            )
        windows = text.unfold(0, self._length + 1, self._length)
        border = len(windows) - max(1, len(windows) // 10)
        return windows[:border], windows[border : border + self.options.validation_examples]

    def _generated(self) -> tuple[torch.Tensor, torch.Tensor]:
        """int32 [N, T + 1]."""
        import torch

        from bench.data.synthetic.token_chains import chains

        count = max(_FEWEST, min(_SYNTHETIC, _SYNTHETIC_TOKENS // self._length))
        held_out = torch.arange(_HELD_OUT_KEY, _HELD_OUT_KEY + self.options.validation_examples)
        shape = self._length + 1, self._vocab_size, self.options.data_seed
        return chains(torch.arange(count), *shape), chains(held_out, *shape)

    def model(self) -> nn.Module:
        from bench.models.transformer import Transformer, TransformerConfig

        options = self.options
        assert options.d_model is not None
        assert options.layers is not None
        assert options.heads is not None
        assert options.feed_forward is not None
        config = TransformerConfig(
            vocab_size=self._vocab_size,
            d_model=options.d_model,
            layers=options.layers,
            heads=options.heads,
            feed_forward=options.feed_forward,
            dropout=options.dropout,
            tie_embeddings=options.tie_embeddings,
            seed=self.seed,
        )
        return Transformer(config)

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        from bench.models.transformer import Transformer

        assert isinstance(model, Transformer)
        return list(model.layers)

    def tp_plan(self, model: nn.Module, *, size: int, sequence_parallel: bool) -> dict[str, ParallelStyle]:
        from torch.distributed.tensor import Replicate, Shard
        from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel

        options = self.options
        for name in ("heads", "feed_forward", "vocab_size"):
            if (value := getattr(options, name)) % size:
                raise InputError(
                    f"transformer_lm: {name} {value} does not divide among {size} ranks of the dimension tp: "
                    f"{value} / {size} = {value / size:g}"
                )
        if sequence_parallel and self._length % size:
            raise InputError(
                f"transformer_lm: sequence_length {self._length} does not divide among {size} ranks "
                f"(sequence_parallel): {self._length} / {size} = {self._length / size:g}"
            )
        if sequence_parallel and options.dropout:
            raise InputError(
                "transformer_lm: dropout draws its mask for whole sequences, which no rank has under "
                "sequence_parallel: use dropout: 0"
            )
        between = Shard(1) if sequence_parallel else Replicate()
        plan: dict[str, ParallelStyle] = {
            "embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=between),
            "head": ColwiseParallel(input_layouts=between, output_layouts=Replicate()),
        }
        for number in range(len(self.blocks(model))):
            for branch, inner in (("attention", "query_key_value"), ("feed_forward", "widen")):
                plan[f"layers.{number}.{branch}.{inner}"] = ColwiseParallel(input_layouts=between)
                plan[f"layers.{number}.{branch}.project"] = RowwiseParallel(output_layouts=between)
                if sequence_parallel:
                    plan[f"layers.{number}.{branch}_norm"] = SequenceParallel()
        if sequence_parallel:
            plan["norm"] = SequenceParallel()
        return plan

    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> Batch:
        """`tokens` [B, T + 1], uint8 or int32. The last token is only a target, so no logits are cut off."""
        return {"tokens": self._sequences.index_select(0, places), "key": keys}

    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        from torch.nn.functional import cross_entropy

        return cross_entropy(*self._predict(model, batch))

    def validation_batch(self, indices: list[int]) -> Batch:
        import torch

        return {"tokens": self._held_out[indices], "key": torch.tensor(indices)}

    def evaluate(self, model: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor | None]:
        from torch.nn.functional import cross_entropy

        losses = cross_entropy(*self._predict(model, batch), reduction="none")
        return losses.view(len(batch["key"]), -1).mean(dim=1), None

    def _predict(self, model: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits float32 [B x T, vocab_size] and the target tokens, int64 [B x T]."""
        tokens = batch["tokens"].long()
        logits = model(tokens[:, :-1], batch["key"])
        return logits.flatten(0, 1).float(), tokens[:, 1:].flatten()
