"""A GPT on the characters of a text, like nanoGPT's: the model is in the module next to this file."""

from dataclasses import dataclass
from pathlib import Path

import torch
from gpt_model import GPT
from torch.nn.functional import cross_entropy


@dataclass(frozen=True, kw_only=True)
class Options:
    length: int = 64
    layers: int = 4
    heads: int = 4
    width: int = 128


class CharacterGpt:
    Options = Options

    @property
    def tokens_per_example(self):
        return self.options.length

    def prepare(self):
        text = Path(__file__).with_name("gpt_model.py").read_text()  # any text will do
        characters = sorted(set(text))
        self.vocabulary = len(characters)
        self.text = torch.tensor([characters.index(one) for one in text])

    def model(self):
        made = self.options
        return GPT(self.vocabulary, made.length, made.layers, made.heads, made.width)

    def batch(self, places, keys):
        begins = places % (len(self.text) - self.options.length - 1)
        windows = self.text[begins[:, None] + torch.arange(self.options.length + 1)]
        return {"tokens": windows[:, :-1], "next": windows[:, 1:]}

    def loss(self, model, batch):
        return cross_entropy(model(batch["tokens"]).flatten(0, 1), batch["next"].flatten())
