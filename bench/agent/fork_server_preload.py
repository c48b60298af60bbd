"""Slow imports that every rank needs. The fork server imports this module once.

DistributedDataParallel's constructor alone imports torch._dynamo and 800 more modules. Nothing here may touch CUDA or
start threads: forked children could use neither.
"""

import gc

import torch
import torch._dynamo
import torch.distributed
import torch.distributed.fsdp
import torch.nn.parallel
import torch.utils.data  # noqa: F401
import torchvision.datasets  # noqa: F401

import bench.train.rank  # noqa: F401

gc.enable()  # bench.agent.fork_server_signals disabled it
