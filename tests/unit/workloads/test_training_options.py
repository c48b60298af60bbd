"""Settings of the loop, for real on one rank: averages, garbage, compilations, losses that are not finite."""

from __future__ import annotations

import dataclasses
import gc
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from runs import spec, workload

from bench import strategies
from bench.data import loader
from bench.measure import recorder
from bench.measure.clock_cpu import CpuClock
from bench.measure.recorder import NonFiniteLossError, StepFile, StrictStepFile
from bench.records.run_spec import MeasureSpec, TrainSpec
from bench.train.compilation import replays_graphs
from bench.train.loop import Training
from bench.train.run_length import run_length
from bench.train.validate import score

WARMUP, STEPS = 3, 8
"""Steps with and without warm-up."""


def training(train: dict[str, Any] | None = None, **measure: Any) -> Training:
    """Three warm-up and five measured steps of spiral_mlp on one rank."""
    run, made = spec(batch_per_rank=8), workload("spiral_mlp")
    run = dataclasses.replace(
        run,
        train=TrainSpec(**train or {}),
        measure=MeasureSpec(warmup=WARMUP, steps=STEPS - WARMUP, **measure),
    )
    single = strategies.load("single")
    strategy, device = single(single.Options()), torch.device("cpu")
    torch.manual_seed(0)
    model = strategy.wrap(made.model(), [], device=device, precision="fp32")
    return Training(
        spec=run,
        workload=made,
        strategy=strategy,
        own_model=model,
        model=model,
        device=device,
        batches=loader.batches(made, run, 0, STEPS),
        limit=run_length(run.measure, made.dataset_size, run.global_batch),
    )


def clock(folder: Path, kind: type[StepFile] = StepFile) -> CpuClock:
    return CpuClock(kind(folder / "steps.raw", STEPS, {"rank": 0}))


def run(made: Training, folder: Path, before: Callable[[int], None] = lambda _step: None) -> None:
    """All steps; `before` gets the number of each step when its batch is asked for."""

    def told(batches: Iterator[Any]) -> Iterator[Any]:
        for step, batch in enumerate(batches):
            before(step)
            yield batch

    made.batches = told(made.batches)
    made.run(clock(folder), lambda _steps: None)


def test_gradients_that_are_kept_train_the_same(tmp_path: Path) -> None:
    """As CUDA graphs need it where micro-batches accumulate."""
    losses = []
    for kept in (False, True):
        made = training({"accumulate": 2})
        made.keeps_gradients = kept
        if kept:
            made.make_gradients()
        before = [parameter.grad for parameter in made.model.parameters()]
        (tmp_path / str(kept)).mkdir()
        run(made, tmp_path / str(kept))
        after = [parameter.grad for parameter in made.model.parameters()]
        assert all(one is other for one, other in zip(before, after, strict=True))
        losses.append(recorder.read(tmp_path / str(kept) / "steps.raw").column("loss").tolist())
    assert losses[0] == losses[1]


@pytest.mark.parametrize(
    ("asked", "device", "expected"),
    [
        ({"compile": True, "compile_mode": "reduce-overhead"}, "cuda", True),
        ({"compile": True, "compile_mode": "max-autotune"}, "cuda", True),
        ({"compile": True, "compile_mode": "max-autotune-no-cudagraphs"}, "cuda", False),
        ({"compile": True}, "cuda", False),
        ({"compile_mode": "reduce-overhead"}, "cuda", False),
        ({"compile": True, "compile_mode": "reduce-overhead"}, "cpu", False),
    ],
)
def test_cuda_graphs_are_recorded_in_two_modes(asked: dict[str, Any], device: str, expected: bool) -> None:
    assert replays_graphs(TrainSpec(**asked), torch.device(device)) is expected


@pytest.mark.parametrize("name", ["resnet50", "ddpm_unet", "transformer_lm"])
def test_a_loss_is_one_graph_for_the_compiler_with_the_model_in_it(name: str) -> None:
    made = workload(name)
    torch.manual_seed(0)
    model, places = made.model(), torch.arange(4)
    batch = made.batch(places, places)
    compiled = torch.compile(made.loss, backend="eager", fullgraph=True)
    exact = made.loss(model, batch)
    assert compiled(model, batch).item() == pytest.approx(exact.item(), rel=1e-4)


def test_averaged_parameters_are_those_of_the_formula(tmp_path: Path) -> None:
    made, decay = training({"ema_decay": 0.9}), 0.9
    assert made.ema is not None
    expected = [parameter.detach().double() for parameter in made.model.parameters()]
    made_by_hand = clock(tmp_path)
    for _ in range(STEPS):
        made.step(made_by_hand, recorder.MEASURED)
        for average, parameter in zip(expected, made.model.parameters(), strict=True):
            average.mul_(decay).add_(parameter.detach().double(), alpha=1 - decay)
    for average, ours in zip(expected, made.ema.averages, strict=True):
        torch.testing.assert_close(ours.double(), average, rtol=1e-5, atol=1e-6)
    assert not torch.equal(made.ema.averages[0], next(made.model.parameters()))


def test_an_average_changes_no_training(tmp_path: Path) -> None:
    plain, averaged = training(), training({"ema_decay": 0.999, "ema_validation": True}, validate_every=2)
    (tmp_path / "plain").mkdir()
    run(plain, tmp_path / "plain")
    averaged.run(clock(tmp_path), lambda _steps: score(averaged, 0) and None)
    for one, other in zip(plain.model.parameters(), averaged.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_validation_takes_the_averaged_parameters_where_the_suite_says_so(tmp_path: Path) -> None:
    trained, averaged = training({"ema_decay": 0.9}), training({"ema_decay": 0.9, "ema_validation": True})
    losses = []
    for made in (trained, averaged):
        folder = tmp_path / str(len(losses))
        folder.mkdir()
        run(made, folder)
        found = score(made, 0)
        assert found is not None
        losses.append(found.loss)
    assert losses[0] != losses[1]
    assert averaged.ema is not None
    with torch.no_grad():  # the averages, set by hand into the model that validates its own parameters
        for parameter, average in zip(trained.model.parameters(), averaged.ema.averages, strict=True):
            parameter.copy_(average)
    found = score(trained, 0)
    assert found is not None
    assert found.loss == losses[1]


def test_a_validation_that_raises_is_what_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    made = training({"ema_decay": 0.9, "ema_validation": True})
    assert made.ema is not None

    def swap() -> None:
        raise MemoryError("of the swap")

    def fails(*_arguments: object) -> Any:
        monkeypatch.setattr(made.ema, "_swap", swap)  # memory is out for it too
        raise MemoryError("of the validation")

    monkeypatch.setattr(made.workload, "evaluate", fails)
    with pytest.raises(MemoryError, match="of the validation"):
        score(made, 0)


class Cycle:
    """Garbage that only the collector frees."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def collections() -> Iterator[list[int]]:
    """The step before or in which each collection began; an eager collector, so that there are some."""
    found: list[int] = [-1]
    thresholds = gc.get_threshold()

    def note(phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            found.append(found[0])

    gc.callbacks.append(note)
    gc.set_threshold(10, 2, 2)
    yield found
    gc.set_threshold(*thresholds)
    gc.callbacks.remove(note)


@pytest.mark.parametrize(
    ("policy", "among_measured"), [("automatic", True), ("frozen", True), ("off", False)]
)
def test_without_a_collector_no_measured_step_is_interrupted(
    tmp_path: Path, collections: list[int], policy: str, among_measured: bool
) -> None:
    made = training(garbage_collection=policy)

    def litter(step: int) -> None:
        collections[0] = step
        for _ in range(100):
            Cycle()

    run(made, tmp_path, litter)
    # a collection noted with the last step may come after it
    assert any(WARMUP <= step < STEPS - 1 for step in collections[1:]) is among_measured
    assert any(step < WARMUP - 1 for step in collections[1:])  # warm-up has Python's own policy
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_what_lived_before_is_not_looked_at_again(tmp_path: Path) -> None:
    made, frozen = training(garbage_collection="frozen"), []
    run(made, tmp_path, lambda _step: frozen.append(gc.get_freeze_count()))
    assert frozen[: WARMUP - 1] == [0] * (WARMUP - 1)
    assert frozen[WARMUP - 1] > 10_000  # all of torch's modules and functions
    assert frozen[-1] <= frozen[WARMUP - 1]  # some of them may be freed


def test_a_validation_is_where_garbage_is_collected(tmp_path: Path, collections: list[int]) -> None:
    made = training(garbage_collection="off", validate_every=5)

    def note(step: int) -> None:
        collections[0] = step

    run(made, tmp_path, note)
    assert collections[1:].count(4) == 1  # between the steps 4 and 5
    assert [step for step in collections[1:] if WARMUP <= step < STEPS - 1 and step != 4] == []


def test_a_loss_that_is_not_finite_ends_the_run_and_keeps_its_rows(tmp_path: Path) -> None:
    made = training()
    good = made.loss

    def loss(model: Any, batch: Any) -> torch.Tensor:
        found = good(model, batch)
        return found * math.inf if len(recorder.read(tmp_path / "steps.raw").words) == 5 else found

    made.loss = loss
    with pytest.raises(NonFiniteLossError, match=r"^loss of step 5 is not finite: inf$"):
        made.run(clock(tmp_path, StrictStepFile), lambda _steps: None)
    rows = recorder.read(tmp_path / "steps.raw")
    assert len(rows.words) == 6  # its own row, too
    assert list(rows.column("loss") == math.inf) == [False] * 5 + [True]


def test_rows_after_a_refused_one_are_stored_too(tmp_path: Path) -> None:
    file = StrictStepFile(tmp_path / "steps.raw", 3, {"rank": 0})
    row = (recorder.MEASURED, 0, 1, 1, 1, 1)
    file.store(*row, 1.0, -1, -1)
    with pytest.raises(NonFiniteLossError, match="step 1 is not finite: nan"):
        file.store(*row, math.nan, -1, -1)
    file.store(*row, math.nan, -1, -1)  # a device's clock completes the queued work
    assert len(recorder.read(tmp_path / "steps.raw").words) == 3


def test_compilations_are_timed_and_told_apart_by_where_they_lie(tmp_path: Path) -> None:
    made = training()
    assert made.compilations.outcome() == {"compile_s": None, "measured_recompiles": None}
    compiled = torch.compile(torch.nn.functional.relu, backend="eager", dynamic=False)

    def compile_anew(step: int) -> None:
        if step in {0, WARMUP + 1, WARMUP + 3}:
            compiled(torch.zeros(step + 1))  # another shape each time

    def validate(steps: int) -> None:
        compiled(torch.zeros(100 + steps))

    batches = made.batches
    made.batches = (compile_anew(step) or batch for step, batch in enumerate(batches))  # type: ignore[func-returns-value]
    made.run(clock(tmp_path), validate)
    said = made.compilations.outcome()
    assert said["measured_recompiles"] == 2
    assert said["compile_s"] > 0


def test_a_workload_says_how_many_examples_are_validated_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made, sizes = training(), []
    whole, evaluate = score(made, 0), made.workload.evaluate

    def counted(model: torch.nn.Module, batch: Any) -> Any:
        sizes.append(len(next(iter(batch.values()))))
        return evaluate(model, batch)

    monkeypatch.setattr(made.workload, "evaluate", counted)
    monkeypatch.setattr(made.workload, "largest_validation_batch", 64, raising=False)
    found = score(made, 0)
    assert found is not None
    assert whole is not None
    assert max(sizes) <= 64
    assert sum(sizes) == made.workload.validation_size
    assert found.loss == pytest.approx(whole.loss, rel=1e-6)
