"""Contrastive learning: two views of a point must find each other among the points of all ranks.

So one rank and two train the same model. If each rank compared only its own points, they would not; a class that does
so sets `couples_examples = True`, and losses are then not compared."""

import torch
from torch import distributed, nn
from torch.distributed.nn.functional import all_gather
from torch.nn.functional import cross_entropy, normalize


class Contrastive:
    def prepare(self):
        self.points = torch.randn(4096, 32, generator=torch.Generator().manual_seed(0))
        self.noise = 0.1 * torch.randn(2, 4096, 32, generator=torch.Generator().manual_seed(1))

    def model(self):
        return nn.Sequential(
            nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 16)
        )

    def batch(self, places, keys):
        return {
            "first": self.points[places] + self.noise[0, places],
            "second": self.points[places] + self.noise[1, places],
        }

    def loss(self, model, batch):
        count = len(batch["first"])
        views = normalize(model(torch.cat([batch["first"], batch["second"]])), dim=1)
        first, second = views[:count], views[count:]
        ranks, rank = 1, 0
        if distributed.is_initialized():
            ranks, rank = distributed.get_world_size(), distributed.get_rank()
        everyone = torch.cat(all_gather(second)) if ranks > 1 else second
        own = torch.arange(count, device=first.device) + rank * count
        return cross_entropy(10 * first @ everyone.T, own)
