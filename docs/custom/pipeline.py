"""A pipeline: each rank has some of the layers, and micro-batches pass through the ranks, by torch's schedule 1F1B."""

import argparse
import os

import torch
from torch import distributed, nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=256, help="examples of a step, on all ranks together")
parser.add_argument("--micro-batches", type=int, default=4)
parser.add_argument("--epochs", type=int, default=50)
arguments = parser.parse_args()

device = f"cuda:{os.environ['LOCAL_RANK']}" if torch.cuda.is_available() else "cpu"
distributed.init_process_group("nccl" if device != "cpu" else "gloo")
rank, ranks = distributed.get_rank(), distributed.get_world_size()
torch.manual_seed(0)
inputs = torch.randn(16_384, 256)
data = TensorDataset(inputs, inputs[:, :10].argmax(dim=1))
loader = DataLoader(
    data, arguments.batch_size, shuffle=True, drop_last=True
)  # in the same order on every rank

layers = [nn.Sequential(nn.Linear(256, 256), nn.ReLU()) for _ in range(8)]
layers.append(nn.Linear(256, 10))
own = range(len(layers) * rank // ranks, len(layers) * (rank + 1) // ranks)
part = nn.Sequential(*(layers[number] for number in own)).to(device)
stage = PipelineStage(part, rank, ranks, torch.device(device))
schedule = Schedule1F1B(stage, arguments.micro_batches, loss_fn=nn.functional.cross_entropy)
optimizer = torch.optim.AdamW(part.parameters(), lr=1e-3)

for _ in range(arguments.epochs):
    for batch, targets in loader:
        optimizer.zero_grad()
        given = (batch.to(device),) if rank == 0 else ()
        schedule.step(*given, target=targets.to(device) if rank == ranks - 1 else None)
        optimizer.step()
distributed.destroy_process_group()
