"""One step of one rank before a session exists, if its workload or its strategy is the suite's own.

A model of more than 50 million parameters takes no step, which would need too much time and memory here: forward and
backward run on shapes alone, without memory and arithmetic."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from bench import strategies, workloads
from bench.common.custom_file import label
from bench.common.declared import check_attributes
from bench.common.errors import InputError
from bench.records.run_spec import DataSpec, MeasureSpec, RunSpec, TrainSpec
from bench.train import flops, process_group, rank, validate
from bench.train.counts import Counts

if TYPE_CHECKING:
    from bench.workloads import Batch, Workload

LARGEST_PARAMETERS = 50_000_000
"""200 MB, and some seconds for two pictures or sentences."""
_EXAMPLES = 2
_LIMIT_S = 600.0
"""For a rank that waits for no other."""


def take(job: Mapping[str, Any], workload: Workload) -> None:
    """Take the step. `job`: a preflight question; `workload`: prepared. Raises what the user's methods raise, and
    torch's errors about what they return."""
    name = label(job["workload"])
    check_attributes(workload, workloads.Workload, name)
    model = on_meta(workload)
    _check_model(workload.model() if model is None else model, name)
    places = torch.tensor([0, workload.dataset_size - 1])
    batch = workload.batch(places, places)
    _check_batch(workload, batch, name)
    _refuse_losses(workload, name)
    if model is not None and sum(one.numel() for one in model.parameters()) > LARGEST_PARAMETERS:
        with suppress(RuntimeError, TypeError):  # code that needs values cannot run on shapes
            flops.of_batches(workload, _EXAMPLES)
        return
    spec = _spec(job)
    device = torch.device("cuda", 0) if spec.device_type == "cuda" else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    with nullcontext() if spec.strategy == "single" else _alone(spec, device):
        torch.manual_seed(spec.seed)
        training, _ = rank.training_of(0, spec, workload, device)
        process_group.keep(training)
        if not {id(one) for one in training.model.parameters()} <= {
            id(one) for one in training.own_model.parameters()
        }:
            raise InputError(
                f"wrap() of {label(spec.strategy)} returned a module with other parameters than the model's, which "
                "would not be trained: change the model in place"
            )
        training.batches = Counts(workload).counted(iter([batch]))
        training.unrecorded_step()
        if workload.validation_size:
            with validate.evaluating(training):
                _, scores = validate.evaluated(training, [0, workload.validation_size - 1])
                validate.refuse_scores(training, float(validate.outside(scores)))


def on_meta(workload: Workload) -> torch.nn.Module | None:
    """The model without memory, because drawing billions of parameters takes a minute; null if it cannot be made so."""
    try:
        with torch.device("meta"):
            return workload.model()
    except Exception:  # a custom model may compute with values while it is built
        return None


def _check_model(model: object, name: str) -> None:
    """Raise InputError if it is no model, or has nothing to train."""
    if not isinstance(model, torch.nn.Module):
        raise InputError(f"model() of {name} returned {type(model).__name__}: return a torch.nn.Module")
    if not any(one.requires_grad for one in model.parameters()):
        raise InputError(
            f"model() of {name} returned a model without parameters to train: return one with a parameter that "
            "requires a gradient"
        )


def _check_batch(workload: Workload, batch: object, name: str) -> None:
    """Raise InputError if it is no batch, or if its tensors have another number of examples than was asked for."""
    if not isinstance(batch, Mapping):
        raise InputError(f"batch() of {name} returned {type(batch).__name__}: return a dict of tensors")
    sizes = {len(part) for part in batch.values() if isinstance(part, torch.Tensor) and part.dim()}
    if sizes and _EXAMPLES not in sizes and not workload.has_own("examples_in"):
        raise InputError(
            f"batch() of {name} was asked for {_EXAMPLES} examples and returned tensors whose first dimension is "
            f"{' or '.join(map(str, sorted(sizes)))}: return an example for each place; if batches differ in size, "
            "write examples_in, which counts the examples of a batch"
        )


def _refuse_losses(workload: Workload, name: str) -> None:
    """From now on loss() raises InputError if it returns no loss to train with."""
    own = workload.loss

    def loss(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
        found: object = own(model, batch)
        if not isinstance(found, torch.Tensor):
            wrong = f"{type(found).__name__}"
        elif found.numel() != 1:
            wrong = f"a tensor of shape {list(found.shape)}"
        elif torch.is_grad_enabled() and not found.requires_grad:
            wrong = "a tensor without gradient"
        else:
            return found
        raise InputError(
            f"loss() of {name} returned {wrong}: return the mean loss over the examples, a tensor of one number that "
            "follows from what the model returned"
        )

    workload.loss = loss  # type: ignore[method-assign]


def _spec(job: Mapping[str, Any]) -> RunSpec:
    """The job as a run of one rank and two examples; without the strategy if it cannot have one rank."""
    strategy, options = job["strategy"], job["strategy_options"]
    if strategies.misfit(strategy, options, 1, job["device_type"]) is not None:
        strategy, options = "single", {}
    train = replace(TrainSpec(**job["train"]), compile=False, compile_loss=False, float8=False)
    return RunSpec(
        session_id="", run_id="trial", suite="", case_name=job["case_names"][0], workload=job["workload"],
        workload_options=job["options"], data=DataSpec(source=job["source"]), data_root=job["data_root"], train=train,
        measure=MeasureSpec(warmup=0, steps=1), strategy=strategy, strategy_options=options, scaling="none",
        axis="ranks", workers=1, world_size=1, nodes=1, ranks_per_node=1, threads=1, repeat=0,
        device_type=job["device_type"], batch_per_rank=_EXAMPLES, global_batch=_EXAMPLES,
    )  # fmt: skip


@contextmanager
def _alone(spec: RunSpec, device: torch.device) -> Iterator[None]:
    """Inside, this process is the only rank of a group."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    cpu_too = strategies.needs_cpu_group(spec.strategy, spec.strategy_options)
    with tempfile.TemporaryDirectory() as folder:
        where = f"file://{folder}/rendezvous"
        process_group.join(where, 0, 1, device, timeout_s=_LIMIT_S, cpu_too=cpu_too)
        try:
            yield
        finally:
            process_group.leave()


def is_due(job: Mapping[str, Any]) -> bool:
    """Whether the workload, or a strategy that can have one rank, is the suite's own."""
    own = strategies.is_custom(job["strategy"]) and (
        strategies.misfit(job["strategy"], job["strategy_options"], 1, job["device_type"]) is None
    )
    return own or workloads.is_custom(job["workload"])
