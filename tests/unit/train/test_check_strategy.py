"""A user's strategy is tried before anything starts; an error gives the method's name."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import torch

from bench import strategies, workloads
from bench.common.errors import InputError
from bench.train import check_strategy

FINE = """
from torch.nn.parallel import DistributedDataParallel

class Mine:
    def wrap(self, model, blocks, *, device, precision):
        return DistributedDataParallel(model.to(device))
"""


def check(folder: Path, text: str, precision: str = "fp32") -> None:
    (folder / "mine.py").write_text(textwrap.dedent(text))
    kind = workloads.load("spiral_mlp")
    workload = kind(kind.Options(), "synthetic", None, 0)
    workload.prepare()
    job = {
        "strategy": f"{folder}/mine.py:Mine",
        "strategy_options": {},
        "device_type": "cpu",
        "train": {"precision": precision, "clip_norm": 1.0},
    }
    check_strategy.check(job, workload)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_strategy_with_wrap_alone_is_tried_in_a_group_of_one_rank(tmp_path: Path, precision: str) -> None:
    before = torch.random.get_rng_state()
    check(tmp_path, FINE, precision)
    assert not torch.distributed.is_initialized()
    assert torch.equal(torch.random.get_rng_state(), before)


def test_the_defaults_skip_synchronisation_and_shard_again(tmp_path: Path) -> None:
    """They do so for models under DDP, under fully_shard, and others."""
    from torch import nn
    from torch.distributed.fsdp import fully_shard
    from torch.nn.parallel import DistributedDataParallel

    (tmp_path / "mine.py").write_text(FINE)
    kind = strategies.load(f"{tmp_path}/mine.py:Mine")
    mine = kind(kind.Options())
    plain = nn.Linear(2, 2)
    with mine.accumulating(plain, False):
        pass
    mine.validated(plain)
    with check_strategy.alone(torch.device("cpu"), cpu_too=False):
        wrapped = DistributedDataParallel(nn.Linear(2, 2))
        with mine.accumulating(wrapped, False):
            assert not wrapped.require_backward_grad_sync
        with mine.accumulating(wrapped, True):
            assert wrapped.require_backward_grad_sync
        sharded = fully_shard(nn.Linear(2, 2))
        whole = nn.Sequential(sharded)
        with torch.no_grad():
            sharded.unshard()
            assert not isinstance(sharded.weight, torch.distributed.tensor.DTensor)
        mine.validated(whole)
        assert isinstance(sharded.weight, torch.distributed.tensor.DTensor)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("return Dist", "Dist"), "wrap() of mine.py:Mine returned NoneType: give a torch.nn.Module"),
        (("return Distr", "return Distri"), "wrap() of mine.py:Mine raised NameError: name 'Distriib"),
        (
            ("return DistributedDataParallel(model.to(device))", "return __import__('torch').nn.ReLU()"),
            "wrap() of mine.py:Mine returned a module without parameters: there is nothing to train",
        ),
        (
            ("class Mine:", "class Mine:\n    def accumulating(self, model, last): ..."),
            "accumulating() of mine.py:Mine returned NoneType: give a context manager, as contextlib.nullcontext()",
        ),
        (
            ("class Mine:", "class Mine:\n    def clip(self, model, max_norm): model.clip_grad_norm_(max_norm)"),
            "clip() of mine.py:Mine raised AttributeError: 'DistributedDataParallel' object has no attribute "
            "'clip_grad_norm_' (line 5). One rank tried it; if it needs more, return the reason from "
            "misfit(options, world_size, device_type)",
        ),
        (
            ("DistributedDataParallel(model.to(device))", "__import__('torch').nn.Linear(9, 9)"),
            "wrap() of mine.py:Mine returned a module with other parameters than the given model's: change that model",
        ),
        (
            ("DistributedDataParallel(model.to(device))", "__import__('torch').nn.Sequential(model, model)"),
            "the model that wrap() of mine.py:Mine returned raised RuntimeError: addmm: mat1 and",
        ),
        (
            (
                "class Mine:",
                "class Mine:\n    @__import__('contextlib').contextmanager\n"
                "    def accumulating(self, model, last):\n        raise ValueError('no')\n        yield",
            ),
            "accumulating() of mine.py:Mine raised ValueError: no",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_method(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    assert change[0] in FINE
    with pytest.raises(InputError) as refused:
        check(tmp_path, FINE.replace(*change))
    assert message in str(refused.value)
    assert not torch.distributed.is_initialized()


def test_a_strategy_that_cannot_have_one_rank_is_left_to_the_run(tmp_path: Path) -> None:
    own = """
    @staticmethod
    def misfit(options, world_size, device_type):
        return "needs two ranks" if world_size < 2 else None
"""
    check(tmp_path, FINE.replace("return Dist", "Dist") + own)
