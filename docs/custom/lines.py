"""A GRU that reads text line by line from a stream of files. Lines differ in length, and their number is not known."""

import sysconfig
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, IterableDataset

PAD = 256  # after the 256 values of a byte


class Lines(IterableDataset):
    def __init__(self, files):
        self.files = files

    def __iter__(self):
        for file in self.files:
            for line in file.read_bytes().splitlines():
                if len(line) > 1:
                    yield torch.tensor(list(line[:100]))


def padded(lines):
    return {"text": pad_sequence(lines, batch_first=True, padding_value=PAD)}


def loader(shard, pattern="*.py"):
    folder = Path(shard.data_root or sysconfig.get_path("stdlib"))
    lines = Lines(sorted(folder.glob(pattern)))
    workers = min(shard.workers, 1)  # several would all read the same lines
    return shard.round_robin(
        DataLoader(lines, shard.batch_size, drop_last=True, collate_fn=padded, num_workers=workers)
    )


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(257, 64)
        self.gru = nn.GRU(64, 128, batch_first=True)
        self.head = nn.Linear(128, 257)

    def forward(self, text):
        return self.head(self.gru(self.embedding(text))[0])


class NextByte:
    def model(self):
        return Net()

    def loss(self, model, batch):
        text = batch["text"]
        losses = cross_entropy(
            model(text[:, :-1]).transpose(1, 2), text[:, 1:], ignore_index=PAD, reduction="none"
        )
        return (losses.sum(dim=1) / (text[:, 1:] != PAD).sum(dim=1)).mean()  # each line counts the same

    def tokens_in(self, batch):
        return (batch["text"] != PAD).sum()
