"""Slow imports that every rank needs, unless it becomes a user's command. The fork server imports this module once.

DistributedDataParallel's constructor alone imports torch._dynamo and 800 more modules. Nothing here may touch CUDA or
start threads: forked children could use neither.
"""

import gc

import torch
import torch.distributed
import torch.distributed.fsdp
import torch.nn.parallel
import torch.utils.data  # noqa: F401

import bench.data.loader
import bench.train.after_training
import bench.train.counts
import bench.train.loop
import bench.train.measure_machine
import bench.train.rank
import bench.train.selfcheck
import bench.train.user_modules
import bench.train.validate  # noqa: F401
from bench.common.torch_private import callback_handler  # noqa: F401 - imports torch._dynamo

# All imported objects join the oldest generation, as after a full collection. Otherwise the server, and then every
# rank, would walk all of them once more, 0.3 s each.
gc.freeze()
gc.unfreeze()
gc.enable()  # bench.agent.fork_server_signals disabled it
