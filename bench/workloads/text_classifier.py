"""text_classifier: a Transformer encoder classifies texts; how it scales depends on its size."""

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

    from bench.workloads import Batch

_SYNTHETIC = 4_096
_EXPECTED = {
    "ag_news": "DIR/ag_news_csv/train.csv and test.csv",
    "imdb": "DIR/aclImdb/ or 'DIR/IMDB Dataset.csv'",
}
"""Files of the real sources."""
_CLASSES = {"ag_news": 4, "imdb": 2}
"""Number of classes of the real sources."""


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """Parameters of text_classifier; null values come from the preset."""

    preset: Literal["ag_news_small", "imdb", "ag_news_large"] = "ag_news_small"
    """Sizes for a data set: a small model for short news, one for long reviews, a large one for news."""
    d_model: Annotated[int, Ge(8), Le(16_384)] | None = None
    """Width of a token's representation, a multiple of `heads`."""
    heads: Annotated[int, Ge(1), Le(256)] | None = None
    """Attention heads per layer."""
    layers: Annotated[int, Ge(1), Le(256)] | None = None
    """Encoder layers; each is a block."""
    feed_forward: Annotated[int, Ge(8), Le(65_536)] | None = None
    """Width of a layer's feed-forward part."""
    sequence_length: Annotated[int, Ge(8), Le(4_096)] | None = None
    """Tokens per text: longer ones are cut, shorter ones padded. Multiples of 8 suit GPUs."""
    vocab_size: Annotated[int, Ge(128), Le(1_000_000)] | None = None
    """Rows of the embedding: the most frequent words and three special ids."""
    classes: Annotated[int, Ge(2), Le(16)] | None = None
    """Classes of generated texts. null: 2 with the preset `imdb`, else 4. AG News has 4 classes, IMDB 2."""
    pooling: Literal["mean", "class_token"] = "mean"
    """Classify the mean over a text's words, or an extra token before the text."""
    dropout: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Probability; masks depend on (seed, example), never on the rank."""
    validation_examples: Annotated[int, Ge(0), Le(25_000)] = 1_024
    """Held-out texts to validate on, at most."""
    data_seed: int = 0
    """Seed of generated texts (source `synthetic`); a repeat's seed does not change them."""

    def __post_init__(self) -> None:
        _presets.fill(self, "text_classifier", _PRESETS)
        assert self.d_model is not None
        assert self.heads is not None
        if self.d_model % self.heads:
            raise InputError(
                f"text_classifier: d_model is {self.d_model}, heads is {self.heads}: heads must divide it"
            )


_PRESETS: dict[str, dict[str, int]] = {
    "ag_news_small": {
        "d_model": 128, "heads": 4, "layers": 2, "feed_forward": 256, "sequence_length": 64,
        "vocab_size": 20_000,
    },
    "imdb": {
        "d_model": 256, "heads": 4, "layers": 4, "feed_forward": 1_024, "sequence_length": 512,
        "vocab_size": 20_000,
    },
    "ag_news_large": {
        "d_model": 512, "heads": 8, "layers": 6, "feed_forward": 2_048, "sequence_length": 128,
        "vocab_size": 20_000,
    },
}  # fmt: skip


class Workload(workloads.Workload):
    """Texts with a class each. Under --data: `ag_news`, 120,000 news of 4 classes, and `imdb`, 25,000 reviews of 2; or
    `synthetic`: 4,096 generated texts."""

    Options = TextOptions
    options: TextOptions
    sources: ClassVar[tuple[str, ...]] = ("synthetic", "ag_news", "imdb")

    def __init__(self, options: TextOptions, source: str, data_root: str | None, seed: int) -> None:
        if source != "synthetic" and data_root is None:
            raise InputError(
                f"text_classifier: source {source} reads {_EXPECTED[source]}: give DIR with --data, "
                "or use source synthetic"
            )
        in_source = _CLASSES.get(source)
        if in_source and options.classes not in (None, in_source):
            raise InputError(
                f"text_classifier: classes is {options.classes}, but source {source} has {in_source}: remove classes"
            )
        self._classes = in_source or options.classes or (2 if options.preset == "imdb" else 4)
        super().__init__(options, source, data_root, seed)
        self.tokens_per_example = options.sequence_length  # includes padding, which is computed too

    def prepare(self) -> None:
        if self.source == "synthetic":
            self._generate()
        else:
            self._read()
        self.dataset_size, self.validation_size = len(self._labels), len(self._held_out_labels)

    def _generate(self) -> None:
        from bench.data.synthetic import keyed, marked_text

        length, vocab_size = self._sizes["sequence_length"], self._sizes["vocab_size"]
        splits = [
            marked_text.generate(
                count, length, vocab_size, self._classes, keyed.hash_seed(self.options.data_seed, split),
                class_token=self._class_token,
            )
            for split, count in enumerate((_SYNTHETIC, self.options.validation_examples))
        ]  # fmt: skip
        (self._tokens, self._labels), (self._held_out, self._held_out_labels) = splits

    def _read(self) -> None:
        import torch

        from bench.data.text import ag_news, imdb
        from bench.data.text.vocabulary import Vocabulary

        assert self.data_root is not None
        read = ag_news.read if self.source == "ag_news" else imdb.read
        train, held_out = read(Path(self.data_root), self.options.validation_examples)
        words, length = Vocabulary(train[0], self._sizes["vocab_size"]), self._sizes["sequence_length"]
        self._tokens = words.own_rows(length, class_token=self._class_token)
        self._held_out = words.rows(held_out[0], length, class_token=self._class_token)
        self._labels, self._held_out_labels = torch.tensor(train[1]), torch.tensor(held_out[1])

    @property
    def _sizes(self) -> dict[str, int]:
        """The options that a preset sets, by name."""
        return {name: getattr(self.options, name) for name in _PRESETS[self.options.preset]}

    @property
    def _class_token(self) -> bool:
        return self.options.pooling == "class_token"

    def model(self) -> nn.Module:
        from bench.models.text_encoder import TextEncoder, TextEncoderConfig

        options = self.options
        config = TextEncoderConfig(
            **self._sizes,
            classes=self._classes,
            pooling=options.pooling,
            dropout=options.dropout,
            seed=self.seed,
        )
        return TextEncoder(config)

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        return list(model.get_submodule("layers").children())

    def batch(self, places: torch.Tensor, keys: torch.Tensor) -> Batch:
        """`tokens` int32 [B, sequence_length], `labels` and `key` int64 [B]."""
        return {
            "tokens": self._tokens.index_select(0, places),
            "labels": self._labels.index_select(0, places),
            "key": keys,
        }

    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        from torch.nn.functional import cross_entropy

        return cross_entropy(model(batch["tokens"], batch["key"]), batch["labels"])

    def validation_batch(self, indices: list[int]) -> Batch:
        import torch

        return {
            "tokens": self._held_out[indices],
            "labels": self._held_out_labels[indices],
            "key": torch.tensor(indices),
        }

    def evaluate(self, model: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor | None]:
        from torch.nn.functional import cross_entropy

        logits = model(batch["tokens"], batch["key"])
        correct = logits.argmax(dim=1) == batch["labels"]
        return cross_entropy(logits, batch["labels"], reduction="none"), correct.float()
