"""Imported once, by the server that ranks are forked from: everything slow that every rank needs.

DistributedDataParallel's constructor alone imports torch._dynamo and 800 more modules. Nothing here may touch
CUDA or start threads: forked children could use neither.
"""

import signal

import torch
import torch._dynamo
import torch.distributed
import torch.distributed.fsdp
import torch.nn.parallel
import torch.utils.data  # noqa: F401
import torchvision.datasets  # noqa: F401

import bench.train.rank  # noqa: F401
from bench.process import die_with_parent

signal.signal(signal.SIGTERM, signal.SIG_IGN)  # Slurm sends it to every process of a step; the agent decides
die_with_parent()  # the server dies with its agent, and the ranks with the server
