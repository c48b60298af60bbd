"""A mixture of experts in place of a feed-forward layer (Shazeer et al. 2017, arXiv:1701.06538): a router sends each
token to the few experts that it prefers. No token is dropped.

Expert parallelism gives each rank of a group some of the experts: tokens travel to them and back (`Experts.group`)."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import distributed as dist
from torch import nn
from torch._guards import detect_fake_mode
from torch.distributed.nn.functional import all_to_all_single
from torch.distributed.tensor import DTensor
from torch.nn import functional as F  # noqa: N812 - its name everywhere

_DEVIATION = 0.02


class Experts(nn.Module):
    """The experts of a layer: two products around a GELU each. The first dimension of every parameter counts them."""

    def __init__(self, count: int, d_model: int, width: int) -> None:
        super().__init__()
        self.count = count
        """Experts on all ranks."""
        self.group: dist.ProcessGroup | None = None
        """Ranks that share the experts; null: this rank has them all."""
        self.widen = nn.Parameter(torch.empty(count, d_model, width))
        self.project = nn.Parameter(torch.empty(count, width, d_model))
        for weight in (self.widen, self.project):
            nn.init.normal_(weight, std=_DEVIATION)

    def forward(self, tokens: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        """[N, d_model] to the same. The tokens are in the order of their experts, `counts` (int64 [count]) of each."""
        if self.group is None:
            return self._own(tokens, counts[None])
        ranks = self.group.size()
        received_counts = torch.empty_like(counts)
        dist.all_to_all_single(received_counts, counts, group=self.group)
        received_counts = received_counts.view(ranks, -1)
        sent = counts.view(ranks, -1).sum(1).tolist()
        received = received_counts.sum(1).tolist()
        there = all_to_all_single(
            tokens.new_empty(sum(received), tokens.shape[1]), tokens, received, sent, group=self.group
        )
        made = self._own(there, received_counts)
        back: torch.Tensor = all_to_all_single(
            torch.empty_like(tokens), made, sent, received, group=self.group
        )
        return back

    def _own(self, tokens: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        """The results of this rank's experts. `counts` [sources, experts]: the tokens are in the order of their source,
        then of their expert."""
        if detect_fake_mode((tokens,)) or tokens.is_meta:  # shapes have no counts: each expert gets as many
            parts = list(tokens.tensor_split(counts.numel()))
        else:
            parts = list(tokens.split(counts.flatten().tolist()))
        widen, project = (_local(weight, self.group) for weight in (self.widen, self.project))
        own = len(widen)
        made = [torch.empty(0)] * len(parts)
        for expert in range(own):
            of_it = parts[expert::own]
            whole = F.gelu(torch.cat(of_it) @ widen[expert], approximate="tanh") @ project[expert]
            made[expert::own] = whole.split([len(part) for part in of_it])
        return torch.cat(made)


class ExpertLayer(nn.Module):
    """A router and its experts: [B, T, d_model] to the same."""

    balanced: ClassVar[bool] = False
    """Gives each expert as many tokens as every other, not those that the router chooses; a shadow has no scores."""

    def __init__(self, experts: int, per_token: int, d_model: int, width: int) -> None:
        super().__init__()
        self.per_token = per_token
        self.router = nn.Linear(d_model, experts, bias=False)
        nn.init.normal_(self.router.weight, std=_DEVIATION)
        self.experts = Experts(experts, d_model, width)
        self.imbalance: torch.Tensor | None = None
        """1 if all experts are equally busy, from the last forward: their number × the sum over them of the share of
        tokens that each got, on all ranks, and its mean probability (Fedus et al. 2021, arXiv:2101.03961)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = x.flatten(0, -2)
        scores = self.router(tokens).float().softmax(-1)
        weights, chosen = scores.topk(self.per_token)
        if self.balanced:
            chosen = torch.arange(chosen.numel(), device=chosen.device).view_as(chosen) % self.experts.count
        weights = weights / weights.sum(-1, keepdim=True)
        ones = torch.ones_like(chosen.flatten())
        counts = ones.new_zeros(self.experts.count).scatter_add(0, chosen.flatten(), ones)
        if self.balanced:
            numbers, experts = chosen.numel(), self.experts.count
            counts = torch.tensor([len(range(expert, numbers, experts)) for expert in range(experts)])
        self.imbalance = self._imbalance(scores, counts) if self.training else None
        order = chosen.flatten().argsort(stable=True)
        source = order // self.per_token
        made = self.experts(tokens[source], counts)
        weighted = made * weights.flatten()[order, None].to(made.dtype)
        return torch.zeros_like(tokens, dtype=weighted.dtype).index_add(0, source, weighted).view(x.shape)

    def _imbalance(self, scores: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        """Only the counts of other ranks are needed: the mean of the ranks' losses is then that of the whole batch."""
        counts = counts.float()
        if dist.is_initialized():
            dist.all_reduce(counts)
        return self.experts.count * (counts / counts.sum() * scores.mean(0)).sum()


def _local(parameter: torch.Tensor, group: dist.ProcessGroup | None) -> torch.Tensor:
    """This rank's part. Its gradient comes from the tokens of all ranks of the group, and losses are means over ranks,
    so it is divided by their number."""
    part = parameter.to_local() if isinstance(parameter, DTensor) else parameter
    if group is None:
        return part
    divided: torch.Tensor = _DividedGradient.apply(part, group.size())
    return divided


class _DividedGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, ranks: int) -> torch.Tensor:
        ctx.ranks = ranks
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradient / ctx.ranks, None
