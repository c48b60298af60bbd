"""Slow imports that every rank needs, unless it becomes a user's command. The fork server imports this module once.

DistributedDataParallel's constructor alone imports torch._dynamo and 800 more modules. Nothing here may touch CUDA or
start threads: forked children could use neither.
"""

import gc

from bench.agent.other_python import torch_too_old

try:
    import torch
    import torch.distributed
    import torch.distributed.fsdp
    import torch.nn.parallel
    import torch.utils.data

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
except ImportError:
    raise
except (
    Exception
) as error:  # a broken installation raises anything, and a fork server survives an ImportError only
    raise ImportError(f"{type(error).__name__}: {error}") from error

if too_old := torch_too_old(torch.__version__):
    raise ImportError(too_old)

# All imported objects join the oldest generation, as after a full collection. Otherwise the server, and then every
# rank, would walk all of them once more, 0.3 s each.
gc.freeze()
gc.unfreeze()
gc.enable()  # bench.agent.fork_server_signals disabled it
