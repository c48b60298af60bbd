"""A LightningModule, trained by Lightning's Trainer with a validation now and then."""

from __future__ import annotations

import os

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))

    def training_step(self, batch: tuple[torch.Tensor, torch.Tensor], _index: int) -> torch.Tensor:
        loss = nn.functional.cross_entropy(self.layers(batch[0]), batch[1])
        print("LOSS", loss.item(), flush=True)
        return loss

    def validation_step(self, batch: tuple[torch.Tensor, torch.Tensor], _index: int) -> None:
        self.log("validation", nn.functional.cross_entropy(self.layers(batch[0]), batch[1]), sync_dist=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters())


lightning.seed_everything(0)
data = TensorDataset(torch.randn(4096, 16), torch.randint(0, 4, (4096,)))
lightning.Trainer(
    accelerator="cpu",
    devices=int(os.environ.get("LOCAL_WORLD_SIZE", "1")),
    strategy="ddp",
    max_epochs=1,
    accumulate_grad_batches=2,
    val_check_interval=10,
    limit_val_batches=2,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
).fit(Classifier(), DataLoader(data, batch_size=8, shuffle=True), DataLoader(data, batch_size=64))
