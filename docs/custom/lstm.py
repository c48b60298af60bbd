"""An LSTM on sequences of unequal length: it finds the class of a noisy wave by its frequency."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pack_padded_sequence

LONGEST, CLASSES = 80, 4


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 64, num_layers=2, batch_first=True)
        self.head = nn.Linear(64, CLASSES)

    def forward(self, waves, lengths):
        packed = pack_padded_sequence(waves, lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, (last, _) = self.lstm(packed)
        return self.head(last[-1])


class Waves:
    dataset_size, validation_size = 2048, 256

    def prepare(self):
        generator = torch.Generator().manual_seed(0)
        count = self.dataset_size + self.validation_size
        self.labels = torch.randint(CLASSES, (count,), generator=generator)
        self.lengths = torch.randint(LONGEST // 2, LONGEST + 1, (count,), generator=generator)
        time = torch.arange(LONGEST) * 0.1
        noise = 0.3 * torch.randn(count, LONGEST, generator=generator)
        self.waves = torch.sin((self.labels[:, None] + 1) * time) + noise

    def model(self):
        return Net()

    def batch(self, places, keys):
        return {
            "waves": self.waves[places, :, None],
            "lengths": self.lengths[places],
            "labels": self.labels[places],
        }

    def loss(self, model, batch):
        return cross_entropy(model(batch["waves"], batch["lengths"]), batch["labels"])

    def evaluate(self, model, batch):
        scores = model(batch["waves"], batch["lengths"])
        losses = cross_entropy(scores, batch["labels"], reduction="none")
        return losses, (scores.argmax(dim=1) == batch["labels"]).float()
