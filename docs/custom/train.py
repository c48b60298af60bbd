"""An ordinary training script, which knows nothing of scalebench: torchrun starts it, or `bench run`."""

import argparse
import os

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=256, help="examples of a rank")
parser.add_argument("--epochs", type=int, default=5)
arguments = parser.parse_args()

device = f"cuda:{os.environ['LOCAL_RANK']}" if torch.cuda.is_available() else "cpu"
distributed.init_process_group("nccl" if device != "cpu" else "gloo")
torch.manual_seed(0)
images = torch.randn(65_536, 784)
labels = images[:, :10].argmax(dim=1)
data = TensorDataset(images, labels)
loader = DataLoader(data, batch_size=arguments.batch_size, sampler=DistributedSampler(data))
net = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
model = DistributedDataParallel(net.to(device))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

for epoch in range(arguments.epochs):
    loader.sampler.set_epoch(epoch)
    for batch, targets in loader:
        loss = nn.functional.cross_entropy(model(batch.to(device)), targets.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if distributed.get_rank() == 0:
        print(f"epoch {epoch}: loss {loss.item():.3f}")
distributed.destroy_process_group()
