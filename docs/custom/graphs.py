"""A graph network of PyTorch Geometric tells rings with a chord from rings without."""

import argparse
import os

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCNConv, global_mean_pool

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=32, help="graphs of a rank")
parser.add_argument("--epochs", type=int, default=50)
arguments = parser.parse_args()

device = f"cuda:{os.environ['LOCAL_RANK']}" if torch.cuda.is_available() else "cpu"
distributed.init_process_group("nccl" if device != "cpu" else "gloo")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GCNConv(1, 32), GCNConv(32, 32)
        self.head = nn.Linear(32, 2)

    def forward(self, graphs):
        x = self.first(graphs.x, graphs.edge_index).relu()
        x = self.second(x, graphs.edge_index).relu()
        return self.head(global_mean_pool(x, graphs.batch))


def ring(number, nodes=12):
    """A ring of nodes with their degrees as features; every second ring has a chord, each at another place."""
    ends = torch.arange(nodes)
    edges = torch.stack([ends, (ends + 1) % nodes])
    if number % 2:
        begin = number // 2 % nodes
        edges = torch.cat([edges, torch.tensor([[begin], [(begin + nodes // 2) % nodes]])], dim=1)
    edges = torch.cat([edges, edges.flip(0)], dim=1)
    degrees = torch.bincount(edges[0], minlength=nodes).float()
    return Data(x=degrees[:, None], edge_index=edges, y=number % 2)


rings = [ring(number) for number in range(4096)]
loader = DataLoader(rings, arguments.batch_size, sampler=DistributedSampler(rings), drop_last=True)
torch.manual_seed(0)
model = DistributedDataParallel(Net().to(device))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(arguments.epochs):
    loader.sampler.set_epoch(epoch)
    for batch in loader:
        graphs = batch.to(device)
        loss = nn.functional.cross_entropy(model(graphs), graphs.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
distributed.destroy_process_group()
