"""A graph network of PyTorch Geometric: it tells rings with a chord from rings without."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GCNConv, global_mean_pool

NODES = 12


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = GCNConv(1, 32), GCNConv(32, 32), GCNConv(32, 32)
        self.head = nn.Linear(32, 2)

    def forward(self, graphs):
        x = self.first(graphs.x, graphs.edge_index).relu()
        x = self.second(x, graphs.edge_index).relu()
        x = self.third(x, graphs.edge_index).relu()
        return self.head(global_mean_pool(x, graphs.batch))


def ring(number):
    """A ring of nodes with their degrees as features; every second ring has a chord, each at another place."""
    nodes = torch.arange(NODES)
    edges = torch.stack([nodes, (nodes + 1) % NODES])
    if number % 2:
        begin = number // 2 % NODES
        edges = torch.cat([edges, torch.tensor([[begin], [(begin + NODES // 2) % NODES]])], dim=1)
    edges = torch.cat([edges, edges.flip(0)], dim=1)
    degrees = torch.bincount(edges[0], minlength=NODES).float()
    return Data(x=degrees[:, None], edge_index=edges, y=number % 2)


class Rings:
    dataset_size = 512

    def prepare(self):
        self.graphs = [ring(number) for number in range(self.dataset_size)]

    def model(self):
        return Net()

    def batch(self, places, keys):
        return {"graphs": Batch.from_data_list([self.graphs[place] for place in places.tolist()])}

    def loss(self, model, batch):
        return cross_entropy(model(batch["graphs"]), batch["graphs"].y)
