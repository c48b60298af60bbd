"""AdamW with weight decay on matrices alone, and a cosine after a warm-up."""

import math

import torch


def make(model, learning_rate, weight_decay, betas):
    decayed = [one for one in model.parameters() if one.dim() >= 2]
    others = [one for one in model.parameters() if one.dim() < 2]
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=learning_rate, betas=betas)


def cosine(optimizer, steps, warmup, floor):
    def factor(step):
        if step < warmup:
            return (step + 1) / (warmup + 1)
        return floor + (1 - floor) * 0.5 * (
            1 + math.cos(math.pi * min(1.0, (step - warmup) / (steps - warmup)))
        )

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
