"""A generator learns a ring of points against a discriminator: two models, two losses, two optimizers."""

import argparse
import os

import torch
from torch import distributed, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=128, help="points of a rank")
parser.add_argument("--epochs", type=int, default=50)
arguments = parser.parse_args()

device = f"cuda:{os.environ['LOCAL_RANK']}" if torch.cuda.is_available() else "cpu"
distributed.init_process_group("nccl" if device != "cpu" else "gloo")


def network(inputs, outputs):
    layers = nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, outputs)
    return DistributedDataParallel(nn.Sequential(*layers).to(device))


torch.manual_seed(0)
angles = 6.28 * torch.rand(16_384)
ring = TensorDataset(torch.stack([angles.cos(), angles.sin()], dim=1))
loader = DataLoader(ring, arguments.batch_size, sampler=DistributedSampler(ring), drop_last=True)
generator, discriminator = network(8, 2), network(2, 1)
for_generator = torch.optim.AdamW(generator.parameters(), lr=1e-3)
for_discriminator = torch.optim.AdamW(discriminator.parameters(), lr=1e-3)

for epoch in range(arguments.epochs):
    loader.sampler.set_epoch(epoch)
    for (points,) in loader:
        real = points.to(device)
        fake = generator(torch.randn(len(real), 8, device=device))
        scores = discriminator(torch.cat([real, fake.detach()]))
        is_real = torch.cat([torch.ones(len(real), 1), torch.zeros(len(fake), 1)]).to(device)
        for_discriminator.zero_grad()
        cross_entropy(scores, is_real).backward()
        for_discriminator.step()
        for_generator.zero_grad()
        scores = discriminator(fake)
        cross_entropy(scores, torch.ones_like(scores)).backward()
        for_generator.step()
distributed.destroy_process_group()
