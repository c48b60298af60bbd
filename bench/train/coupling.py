"""Whether an example's loss hangs on the others of its batch: then ranks that share a batch train another model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import SyncBatchNorm
from torch.nn.modules.batchnorm import _BatchNorm

if TYPE_CHECKING:
    from torch import nn

    from bench.workloads import Workload


def couples_examples(workload: Workload, model: nn.Module) -> bool:
    """Where the workload says so by an attribute of that name, and wherever the model normalises by the statistics of
    a rank's own batch. SyncBatchNorm takes those of all ranks, which do not change with their number."""
    own_statistics = any(
        isinstance(part, _BatchNorm) and not isinstance(part, SyncBatchNorm) for part in model.modules()
    )
    return own_statistics or bool(getattr(workload, "couples_examples", False))
