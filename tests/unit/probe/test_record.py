"""Rows that the probe records of scripts which know nothing of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from bench.command.rank import PROBE_FOLDER
from bench.measure import recorder
from bench.measure.recorder import MEASURED, PROFILED, UNKNOWN_LOSS, UNKNOWN_PHASE, WARMUP
from tests.unit.probe.recorded import (
    ASKED,
    BEGIN,
    IDENTITY,
    MEASURED_STEPS,
    PROFILED_STEPS,
    WARMUP_STEPS,
    Run,
)


def test_a_plain_loop(run: Run) -> None:
    found = run("""
        import atexit
        atexit.register(lambda: print("closed"))
        for batch, target in DataLoader(data, batch_size=8):
            loss = nn.functional.cross_entropy(net(batch), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step() if show(loss) is None else None
    """)
    assert found.code == 0, found.log
    assert "closed" in found.log.splitlines()
    kinds = [WARMUP] * WARMUP_STEPS + [MEASURED] * MEASURED_STEPS + [PROFILED] * PROFILED_STEPS
    assert found.column("kind") == kinds
    assert found.column("loss") == found.shown
    assert found.said["parameters"] == 4 * 16 + 16 + 16 * 3 + 3
    assert found.counted[1]["batch"] == 8
    assert found.counts == {"examples": 40, "tokens": 0, "steps": 5, "skipped": 0}
    phases = np.array([found.column(f"{name}_ns") for name in recorder.PHASES])
    assert (phases > 0).all()
    assert (phases.sum(axis=0) <= found.column("step_ns")).all()
    events = (found.scratch / "events.rank0.json").read_text().splitlines()
    assert sum("bench.step" in line for line in events) == PROFILED_STEPS


def test_batches_without_a_loader_and_keyword_inputs(run: Run) -> None:
    found = run("""
        class Text(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed, self.out = nn.Embedding(10, 4), nn.Linear(4, 10)
            def forward(self, *, ids, targets=None):
                return nn.functional.cross_entropy(self.out(self.embed(ids)).flatten(0, 1), targets.flatten())
        model = nn.ModuleDict({"inner": Text()})["inner"]
        optimizer = torch.optim.AdamW(model.parameters())
        for step in range(100):
            ids = torch.randint(0, 10, (6, 7))
            loss = model(ids=ids, targets=ids)
            loss.backward()
            show(loss)
            optimizer.step()
            optimizer.zero_grad()
    """)
    assert found.code == 0, found.log
    assert found.column("loss") == found.shown
    assert set(found.column("data_ns")) == {UNKNOWN_PHASE}
    assert min(found.column("forward_ns")) > 0
    assert found.counts["examples"] == 6 * MEASURED_STEPS
    assert found.counts["tokens"] == 42 * MEASURED_STEPS


TWO_OPTIMIZERS = """
    other = nn.Linear(3, 1)
    first = torch.optim.Adam(other.parameters())
    for batch, target in DataLoader(data, batch_size=8):
        real = other(net(batch).detach()).square().mean()
        real.backward()
        first.step()
        fake = other(net(batch)).mean()
        fake.backward()
        show(real + fake)
        optimizer.step()
"""


def test_the_optimizer_that_comes_last_ends_the_step(run: Run) -> None:
    found = run(TWO_OPTIMIZERS)
    assert found.code == 0, found.log
    assert len(found.column("loss")) == ASKED
    assert found.column("loss") == pytest.approx(found.shown, rel=1e-6)
    assert found.facts["optimizers"] == ["Adam", "SGD"]
    assert found.facts["closing"] == "SGD"


def test_the_user_names_the_optimizer(run: Run) -> None:
    found = run(TWO_OPTIMIZERS, step_optimizer="Adam")
    assert found.code == 0, found.log
    assert len(found.column("loss")) == ASKED
    assert found.facts["closing"] == "Adam"


@pytest.mark.parametrize("named", ["Lion", "2"])
def test_an_optimizer_that_the_script_does_not_have_ends_no_step(run: Run, named: str) -> None:
    found = run(TWO_OPTIMIZERS, step_optimizer=named)
    assert found.code == 0, found.log
    assert found.rows is None
    assert (found.facts["steps"], found.facts["optimizers"]) == (0, ["Adam", "SGD"])
    assert "parameters" not in found.said  # the script came to its own end


def test_accumulated_micro_batches_are_one_step(run: Run) -> None:
    found = run("""
        total = 0.0
        for number, (batch, target) in enumerate(DataLoader(data, batch_size=4), start=1):
            loss = nn.functional.cross_entropy(net(batch), target) / 3
            loss.backward()
            total += loss.item()
            if number % 3 == 0:
                show(total)
                optimizer.step()
                optimizer.zero_grad()
                total = 0.0
    """)
    assert found.code == 0, found.log
    assert found.column("loss") == pytest.approx(found.shown, rel=1e-12)
    assert found.counted[1]["batch"] == 12


def test_a_closure_that_the_optimizer_calls(run: Run) -> None:
    found = run("""
        optimizer = torch.optim.LBFGS(net.parameters(), lr=0.01, max_iter=4)
        for batch, target in DataLoader(data, batch_size=8):
            losses = []
            def closure():
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(net(batch), target)
                loss.backward()
                losses.append(loss)
                return loss
            optimizer.step(closure)
            show(losses[0])
    """)
    assert found.code == 0, found.log
    assert len(found.column("loss")) == ASKED
    assert found.column("loss")[:-1] == found.shown  # the script ends before it prints the last one
    assert min(found.column("optimizer_ns")) > 0
    assert min(found.column("forward_ns")) > 0


def test_validation_belongs_to_no_step(run: Run) -> None:
    found = run("""
        import time
        class Slow(torch.utils.data.Dataset):
            def __len__(self):
                return len(data)
            def __getitem__(self, index):
                time.sleep(0.4 if index == 0 else 0)
                return data[index]
        for step, (batch, target) in enumerate(DataLoader(data, batch_size=8)):
            nn.functional.cross_entropy(net(batch), target).backward()
            optimizer.step()
            if step in (3, 6):
                for batch, _ in DataLoader(Slow(), batch_size=100):
                    with torch.no_grad():
                        net(batch)
                        time.sleep(0.05)
                        net(batch)
    """)
    assert found.code == 0, found.log
    assert [*found.pauses] == [3, 6]  # before these rows; the first step has none
    for step, of_step in found.pauses.items():
        (seconds,) = of_step.values()
        assert seconds >= 0.4 + 0.4  # the first batch, too
        start, before = found.column("start_ns")[step], found.column("start_ns")[step - 1]
        assert start - before - found.column("step_ns")[step - 1] == pytest.approx(seconds * 1e9, rel=1e-3)
    assert found.counted[1]["batch"] == 8


def test_validation_of_the_module_inside_of_a_wrapper_belongs_to_no_step(run: Run) -> None:
    found = run("""
        import time
        class Wrapper(nn.Module):
            def __init__(self):
                super().__init__()
                self.module = net
            def forward(self, batch):
                return self.module(batch)
        wrapper = Wrapper()
        for step, (batch, target) in enumerate(DataLoader(data, batch_size=8)):
            loss = nn.functional.cross_entropy(wrapper(batch), target)
            show(loss)
            loss.backward()
            optimizer.step()
            if step == 4:
                with torch.no_grad():
                    net(batch)
                    time.sleep(0.2)
                    net(batch)
    """)
    assert found.code == 0, found.log
    assert found.column("loss") == found.shown
    assert found.facts["models"] == ["Wrapper"]
    assert found.counted[1]["batch"] == 8
    ((step, seconds),) = ((step, of["validation"]) for step, of in found.pauses.items())
    assert (step, seconds >= 0.2) == (4, True)


@pytest.mark.parametrize("is_kept", [False, True])
def test_workers_of_the_training_that_start_again_in_an_epoch_are_counted(run: Run, is_kept: bool) -> None:
    found = run(f"""
        few = torch.utils.data.Subset(data, range(40))
        training = DataLoader(few, batch_size=8, num_workers=2, persistent_workers={is_kept})
        for epoch in range(5):
            for batch, target in training:
                nn.functional.cross_entropy(net(batch), target).backward()
                optimizer.step()
            with torch.no_grad():
                for batch, _ in DataLoader(data, batch_size=400, num_workers=1):
                    net(batch)
    """)
    assert found.code == 0, found.log
    assert found.facts["loader"] == {"workers": 2, "starts": 0 if is_kept else 1}


def test_the_start_of_a_loader_is_loading_data_or_a_part_of_the_validation(run: Run) -> None:
    found = run("""
        import time
        class Slow:
            def __init__(self, seconds):
                self.seconds = seconds
            def __iter__(self):
                time.sleep(self.seconds)
                return iter([range(8)] * 5)
        training, validation = DataLoader(data, batch_sampler=Slow(0.2)), DataLoader(data, batch_sampler=Slow(0.4))
        for epoch in range(5):
            for batch, target in training:
                nn.functional.cross_entropy(net(batch), target).backward()
                optimizer.step()
            with torch.no_grad():
                for batch, _ in validation:
                    net(batch)
    """)
    assert found.code == 0, found.log
    pauses = {step: of_step["validation"] for step, of_step in found.pauses.items()}
    assert [*pauses] == [4, 9]  # every fifth step, and the first is not recorded
    assert min(pauses.values()) >= 0.4
    waited = [step for step, data_ns in enumerate(found.column("data_ns")) if data_ns >= 200_000_000]
    assert waited == [4, 9]
    assert found.facts["loader"] == {"workers": 0, "starts": 0}
    assert found.counted[1]["batch"] == 8


@pytest.mark.parametrize(
    "call", ["torch.save({}, 'x')", "dcp.save({}, checkpoint_id='x')", "save_file({}, 'x')"]
)
def test_writing_a_checkpoint_belongs_to_no_step(run: Run, call: str) -> None:
    found = run(f"""
        import os, tempfile
        import torch.distributed.checkpoint as dcp
        from safetensors.torch import save_file
        os.chdir(tempfile.mkdtemp())
        for step, (batch, target) in enumerate(DataLoader(data, batch_size=8)):
            nn.functional.cross_entropy(net(batch), target).backward()
            optimizer.step()
            if step == 5:
                {call}
    """)
    assert found.code == 0, found.log
    ((step, seconds),) = ((step, of["saving"]) for step, of in found.pauses.items())
    assert step == 5
    assert seconds > 0


def test_gradient_scaler(run: Run) -> None:
    found = run("""
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        for step, (batch, target) in enumerate(DataLoader(data, batch_size=8)):
            loss = nn.functional.cross_entropy(net(batch), target)
            show(loss)
            scaler.scale(loss).backward()
            if step == 5:
                net[0].weight.grad[:] = float("inf")
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    """)
    assert found.code == 0, found.log
    assert found.column("loss") == found.shown
    assert len(found.column("loss")) == ASKED
    assert found.counts["skipped"] == 1


def test_an_optimizer_for_each_parameter_inside_backward(run: Run) -> None:
    found = run("""
        optimizers = {one: torch.optim.SGD([one], lr=0.1) for one in net.parameters()}
        def update(parameter):
            optimizers[parameter].step()
            optimizers[parameter].zero_grad()
        for parameter in net.parameters():
            parameter.register_post_accumulate_grad_hook(update)
        for batch, target in DataLoader(data, batch_size=8):
            loss = nn.functional.cross_entropy(net(batch), target)
            show(loss)
            loss.backward()
    """)
    assert found.code == 0, found.log
    assert found.column("loss") == found.shown
    assert len(found.column("loss")) == ASKED
    assert min(found.column("backward_ns")) > 0
    assert set(found.column("optimizer_ns")) == {UNKNOWN_PHASE}  # it is a part of backward


def test_a_forward_pass_that_raises_does_not_stop_the_recording(run: Run) -> None:
    found = run("""
        for step, (batch, target) in enumerate(DataLoader(data, batch_size=8)):
            try:
                net(batch[:, :2])
            except RuntimeError:
                pass
            loss = nn.functional.cross_entropy(net(batch), target)
            show(loss)
            loss.backward()
            optimizer.step()
    """)
    assert found.code == 0, found.log
    assert found.column("loss") == found.shown
    assert min(found.column("backward_ns")) > 0


def test_a_script_that_marks_its_own_steps(run: Run) -> None:
    found = run("""
        import bench_probe
        weights = torch.zeros(3)
        for step in range(100):
            with bench_probe.phase("data"):
                batch = torch.randn(5, 3)
            with bench_probe.phase("forward"):
                loss = (batch @ weights).sum()
            weights += 0.1
            show(loss)
            bench_probe.step(loss=loss, examples=5, tokens=15)
    """)
    assert found.code == 0, found.log
    assert found.column("loss") == found.shown
    assert min(found.column("data_ns")) > 0
    assert found.counts == {"examples": 25, "tokens": 75, "steps": 5, "skipped": 0}
    assert found.facts["has_own_steps"]
    assert found.facts["has_own_loss"]


def test_a_second_process_of_the_rank_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "steps.rank0.raw").touch()
    found = run("""
        net(torch.ones(2, 4)).sum().backward()
        optimizer.step()
    """)
    assert found.code == 1
    assert "another process of rank 0 takes steps, too" in found.log
    assert (tmp_path / "processes.rank0").exists()


def test_a_script_that_ends_early_says_how_far_it_came(run: Run) -> None:
    found = run("""
        for _ in range(4):
            net(torch.ones(2, 4)).sum().backward()
            optimizer.step()
    """)
    assert found.code == 0
    assert "parameters" not in found.said
    assert found.facts["steps"] == 3
    assert found.column("kind") == [WARMUP] * 3


@pytest.mark.parametrize("imports_torch", [False, True])
def test_the_probe_begins_with_torch_and_runs_a_hidden_sitecustomize(
    tmp_path: Path, imports_torch: bool
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('hidden')\n")
    (tmp_path / "script.py").write_text(
        f"import sys\n{'import torch' if imports_torch else ''}\nprint('bench_probe.record' in sys.modules)\n"
    )
    path = os.pathsep.join([str(PROBE_FOLDER), str(tmp_path)])
    job = {"scratch": str(tmp_path), "rank": 0, "identity": IDENTITY, "warmup": 1, "steps": 1, "profiled": 0}
    environment = {**os.environ, "PYTHONPATH": path, "BENCH_PROBE": json.dumps(job)}
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["hidden", str(imports_torch)]


def test_a_script_goes_on_if_the_probe_cannot_begin(tmp_path: Path) -> None:
    job = {"scratch": str(tmp_path), "rank": 0}  # it needs more
    environment = {**os.environ, "PYTHONPATH": str(PROBE_FOLDER), "BENCH_PROBE": json.dumps(job)}
    done = subprocess.run(
        [sys.executable, "-c", "import torch\nprint(torch.ones(1).item())"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("1.0\n", "")
    assert "KeyError" in (tmp_path / "probe_error.rank0").read_text()


def test_without_bench_its_functions_do_nothing(tmp_path: Path) -> None:
    text = "import bench_probe\nwith bench_probe.phase('data'):\n    pass\nbench_probe.step(loss=1.0)\nprint('well')\n"
    environment = {name: value for name, value in os.environ.items() if name != "BENCH_PROBE"}
    environment["PYTHONPATH"] = str(PROBE_FOLDER)
    done = subprocess.run(
        [sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "well\n"


@pytest.mark.parametrize("profiled", [PROFILED_STEPS, 0])
def test_pairs_of_recorded_and_bare_steps_follow_the_measured_ones(run: Run, profiled: int) -> None:
    plain = """
        for batch, target in DataLoader(data, batch_size=8):
            loss = nn.functional.cross_entropy(net(batch), target)
            optimizer.zero_grad()
            loss.backward()
            show(loss)
            optimizer.step()
    """
    found = run(plain, pairs=3, seed=1, profiled=profiled)
    assert found.code == 0, found.log
    trained = WARMUP_STEPS + MEASURED_STEPS
    assert (
        found.column("kind") == [WARMUP] * WARMUP_STEPS + [MEASURED] * MEASURED_STEPS + [PROFILED] * profiled
    )
    losses = [float(line.split()[1]) for line in found.log.splitlines() if line.startswith("LOSS")][1:]
    assert len(losses) == trained + 2 * 3 + profiled
    assert found.column("loss") == losses[:trained] + losses[trained + 6 :]
    assert found.counts == {"examples": 40, "tokens": 0, "steps": 5, "skipped": 0}
    pairs = found.said["selfcheck"]
    assert [pair for pair, _, _ in pairs] == [0, 0, 1, 1, 2, 2]
    assert all(
        {kind for pair, kind, _ in pairs if pair == number} == {"bare", "instrumented"} for number in range(3)
    )
    assert min(step_ns for *_, step_ns in pairs) > 0
    assert not (found.scratch / "selfcheck.rank0").exists()


def test_a_script_that_ends_within_the_self_check_keeps_its_rows(run: Run) -> None:
    found = run(f"""
        for step in range({1 + WARMUP_STEPS + MEASURED_STEPS} + 3):
            optimizer.zero_grad()
            loss = net(torch.ones(8, 4)).sum()
            loss.backward()
            show(loss)
            optimizer.step()
    """, pairs=3, seed=1)  # fmt: skip
    assert found.code == 0, found.log
    assert found.column("kind") == [WARMUP] * WARMUP_STEPS + [MEASURED] * MEASURED_STEPS
    assert found.column("loss") == found.shown
    assert found.counts["steps"] == MEASURED_STEPS
    assert len(found.said["selfcheck"]) == 3


def test_steps_without_backward_have_neither_loss_nor_backward(run: Run) -> None:
    found = run("""
        for step in range(100):
            loss = net(torch.ones(8, 4)).sum()
            for each, gradient in zip(net.parameters(), torch.autograd.grad(loss, list(net.parameters()))):
                each.grad = gradient
            optimizer.step()
    """)
    assert found.code == 0, found.log
    assert set(found.column("loss")) == {UNKNOWN_LOSS}
    assert set(found.column("backward_ns")) == {UNKNOWN_PHASE}
    assert "backward" not in found.facts["seen"]


def test_rows_of_the_self_check_stay_out_where_the_device_is_late(run: Run) -> None:
    found = run("""
        import bench_probe.record
        bench_probe.record.RECORDER.device.has_passed = lambda step: False  # as on a GPU that has not caught up
        for batch, target in DataLoader(data, batch_size=8):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(batch), target)
            loss.backward()
            show(loss)
            optimizer.step()
    """, pairs=3, seed=1)  # fmt: skip
    assert found.code == 0, found.log
    trained = WARMUP_STEPS + MEASURED_STEPS
    assert (
        found.column("kind")
        == [WARMUP] * WARMUP_STEPS + [MEASURED] * MEASURED_STEPS + [PROFILED] * PROFILED_STEPS
    )
    losses = [float(line.split()[1]) for line in found.log.splitlines() if line.startswith("LOSS")][1:]
    assert found.column("loss") == losses[:trained] + losses[trained + 6 :]


def test_a_step_of_a_scaler_is_one_step_of_the_self_check(run: Run) -> None:
    found = run("""
        scaler = torch.amp.GradScaler("cpu")
        for batch, target in DataLoader(data, batch_size=8):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(batch), target)
            scaler.scale(loss).backward()
            show(loss)
            scaler.step(optimizer)
            scaler.update()
    """, pairs=3, seed=1)  # fmt: skip
    assert found.code == 0, found.log
    losses = [line for line in found.log.splitlines() if line.startswith("LOSS")]
    assert len(losses) == 1 + WARMUP_STEPS + MEASURED_STEPS + 6 + PROFILED_STEPS
    assert found.counts["skipped"] == 0


def test_what_came_before_the_scripts_own_first_step_does_not_count(run: Run) -> None:
    found = run("""
        import bench_probe
        for step in range(100):
            for _ in range(4):  # optimizer steps of 8 examples
                optimizer.zero_grad()
                net(torch.ones(8, 4)).sum().backward()
                optimizer.step()
            bench_probe.step(examples=32)
    """, warmup=6)  # fmt: skip
    assert found.code == 0, found.log
    assert found.counts["examples"] == 32 * MEASURED_STEPS
    assert found.counted[1]["batch"] == 32


def test_examples_that_are_a_tensor_are_refused_at_once(run: Run) -> None:
    found = run("""
        import bench_probe
        bench_probe.step(examples=torch.tensor(3))
    """)
    assert found.code == 1
    assert "examples is a Tensor: give a whole number, as in len(batch)" in found.log


def test_the_probe_begins_although_the_script_asked_before_where_torch_is(tmp_path: Path) -> None:
    text = (
        "import importlib.util, sys\nassert importlib.util.find_spec('torch')\n"
        "import torch\nprint('bench_probe.record' in sys.modules)\n"
    )
    job = {"scratch": str(tmp_path), "rank": 0, "identity": IDENTITY, "warmup": 1, "steps": 1, "profiled": 0}
    environment = {**os.environ, "PYTHONPATH": str(PROBE_FOLDER), "BENCH_PROBE": json.dumps(job)}
    done = subprocess.run(
        [sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"


def test_phases_that_the_script_marks_around_its_model_and_its_optimizer(run: Run) -> None:
    found = run("""
        import time
        import bench_probe
        for batch, target in DataLoader(data, batch_size=8):
            with bench_probe.phase("forward"):
                time.sleep(0.02)
                loss = nn.functional.cross_entropy(net(batch), target)
            optimizer.zero_grad()
            loss.backward()
            with bench_probe.phase("optimizer"):
                time.sleep(0.01)
                optimizer.step()
                time.sleep(0.03)  # after the step's end: of the next step
            show(loss)
    """)
    assert found.code == 0, found.log
    assert found.column("loss")[: ASKED - 1] == found.shown
    assert found.counts == {"examples": 40, "tokens": 0, "steps": 5, "skipped": 0}
    assert min(found.column("forward_ns")) >= 20_000_000
    assert min(found.column("optimizer_ns")) >= 40_000_000
    phases = np.array([found.column(f"{name}_ns") for name in recorder.PHASES])
    assert (phases.sum(axis=0) <= found.column("step_ns")).all()


def test_examples_inside_of_a_marked_forward_phase_are_counted_without_a_loader(run: Run) -> None:
    found = run("""
        import bench_probe
        for _ in range(100):
            with bench_probe.phase("forward"):
                loss = net(torch.ones(6, 4)).sum()
            with bench_probe.phase("data"):
                net(torch.ones(50, 4))
            loss.backward()
            optimizer.step()
    """)
    assert found.code == 0, found.log
    assert found.counted[1]["batch"] == 6


def test_a_profiler_of_the_script_leaves_the_measured_rows(run: Run) -> None:
    found = run("""
        with torch.profiler.profile():
            for batch, target in DataLoader(data, batch_size=8):
                nn.functional.cross_entropy(net(batch), target).backward()
                optimizer.step()
    """)
    assert found.code == 0, found.log
    assert found.column("kind") == [WARMUP] * WARMUP_STEPS + [MEASURED] * MEASURED_STEPS
    assert found.facts["profile_problem"]


def test_the_batches_of_a_validation_are_not_examples_of_the_training(run: Run) -> None:
    found = run("""
        for step in range(100):
            loss = net(torch.ones(6, 4)).sum()
            loss.backward()
            optimizer.step()
            if step == 5:
                for batch, _ in DataLoader(data, batch_size=100):
                    with torch.no_grad():
                        net(batch)
    """)
    assert found.code == 0, found.log
    assert found.counts["examples"] == 6 * MEASURED_STEPS
    assert set(found.column("data_ns")) == {UNKNOWN_PHASE}
    assert len(found.pauses) == 1


def test_a_step_between_two_validations_keeps_its_time(run: Run) -> None:
    found = run("""
        import time
        for step in range(100):
            if step == 6:
                with torch.no_grad():
                    net(torch.ones(6, 4))
            loss = net(torch.ones(6, 4)).sum()
            loss.backward()
            time.sleep(0.02)
            if step == 6:
                with torch.no_grad():
                    net(torch.ones(6, 4))
            optimizer.step()
    """)
    assert found.code == 0, found.log
    assert min(found.column("step_ns")) >= 20_000_000
    assert [*found.pauses] == [5]


def test_its_own_first_step_may_not_come_after_the_warmup(run: Run) -> None:
    found = run("""
        import bench_probe
        for step in range(100):
            net(torch.ones(8, 4)).sum().backward()
            optimizer.step()
            if step == 6:
                bench_probe.step()
    """)
    assert found.code == 1
    assert "for the first time after 6 steps of an optimizer: ask for more warm-up steps" in found.log


def test_a_loss_that_is_divided_after_its_scaling_is_not_known(run: Run) -> None:
    found = run("""
        scaler = torch.amp.GradScaler("cpu")
        for batch, target in DataLoader(data, batch_size=8):
            (scaler.scale(nn.functional.cross_entropy(net(batch), target)) / 2).backward()
            scaler.step(optimizer)
            scaler.update()
    """)
    assert found.code == 0, found.log
    assert np.isnan(found.column("loss")).all()


def test_a_profiler_that_waits_for_its_first_step_is_seen(run: Run) -> None:
    found = run("""
        from torch.profiler import profile, schedule
        with profile(schedule=schedule(wait=9, warmup=1, active=5)) as profiler:
            for batch, target in DataLoader(data, batch_size=8):
                nn.functional.cross_entropy(net(batch), target).backward()
                optimizer.step()
                profiler.step()
    """)
    assert found.code == 0, found.log
    assert found.column("kind") == [WARMUP] * WARMUP_STEPS + [MEASURED] * MEASURED_STEPS
    assert "a profiler of the script is running" in found.facts["profile_problem"]


def test_a_copy_and_a_pickle_of_the_model_leave_the_recorder_alone(run: Run) -> None:
    found = run("""
        import copy
        for step, (batch, target) in enumerate(DataLoader(data, batch_size=8)):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(batch), target)
            loss.backward()
            show(loss)
            if step == 3:
                average = torch.optim.swa_utils.AveragedModel(net)
                best = copy.deepcopy(net)
                best(batch).sum().backward()
                torch.save(net, "/dev/null")
                script = torch.jit.script(net)
            optimizer.step()
    """)
    assert found.code == 0, found.log
    assert len(found.column("loss")) == ASKED
    assert min(found.column("forward_ns")) > 0
    assert found.counted[1]["batch"] == 8


def test_a_pickled_model_needs_no_probe(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    found = run(f"""
        for step, (batch, target) in enumerate(DataLoader(data, batch_size=8)):
            optimizer.zero_grad()
            net(batch).sum().backward()
            if step == 3:
                torch.save(net, {str(path)!r})
            optimizer.step()
    """)
    assert found.code == 0, found.log
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    text = (
        "import sys, torch\n"
        f"net = torch.load({str(path)!r}, weights_only=False)\n"
        "print(tuple(net(torch.ones(2, 4)).shape), 'bench_probe' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "(2, 3) False\n", done.stderr


def test_an_optimizer_that_takes_the_place_of_another_ends_the_steps(run: Run) -> None:
    found = run("""
        for step, (batch, target) in enumerate(DataLoader(data, batch_size=8)):
            if step == 6:
                net = nn.Linear(4, 3)
                optimizer = torch.optim.AdamW(net.parameters())
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(batch), target)
            loss.backward()
            show(loss)
            optimizer.step()
    """)
    assert found.code == 0, found.log
    assert len(found.column("loss")) == ASKED
    losses = [float(line.split()[1]) for line in found.log.splitlines() if line.startswith("LOSS")]
    assert found.column("loss") == losses[1:6] + losses[8:]  # two steps until it is clear
    assert min(found.column("forward_ns")) > 0
    assert found.facts["late_optimizers"] == [1]


def test_batches_that_another_thread_loads_are_not_waited_for(run: Run) -> None:
    found = run("""
        import queue, threading
        batches = queue.Queue(maxsize=2)
        def feed():
            for batch in DataLoader(data, batch_size=8):
                batches.put(batch)
        threading.Thread(target=feed, daemon=True).start()
        for _ in range(100):
            batch, target = batches.get()
            nn.functional.cross_entropy(net(batch), target).backward()
            optimizer.step()
    """)
    assert found.code == 0, found.log
    assert set(found.column("data_ns")) == {UNKNOWN_PHASE}
    assert found.counted[0] == "model"


def test_validation_of_a_copy_belongs_to_no_step(run: Run) -> None:
    found = run("""
        import copy, time
        average = copy.deepcopy(net)
        validation = DataLoader(data, batch_size=400)
        for step, (batch, target) in enumerate(DataLoader(data, batch_size=8)):
            nn.functional.cross_entropy(net(batch), target).backward()
            optimizer.step()
            if step == 5:
                for batch, _ in validation:
                    with torch.no_grad():
                        average(batch)
                        time.sleep(0.1)
    """)
    assert found.code == 0, found.log
    ((step, seconds),) = ((step, of["validation"]) for step, of in found.pauses.items())
    assert step == 5
    assert seconds >= 0.2


def test_an_optimizer_step_that_raises_does_not_hide_what_follows(run: Run) -> None:
    found = run("""
        other = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)
        def fail():
            raise ValueError
        for step, (batch, target) in enumerate(DataLoader(data, batch_size=8)):
            if step in (0, 4):
                try:
                    other.step(fail)
                except ValueError:
                    pass
            total = 0.0
            for _ in range(2):
                loss = nn.functional.cross_entropy(net(batch), target)
                loss.backward()
                total += loss.item()
            show(total)
            optimizer.step()
    """)
    assert found.code == 0, found.log
    assert found.column("loss") == pytest.approx(found.shown, rel=1e-12)


def test_a_fork_that_trains_is_seen(run: Run, tmp_path: Path) -> None:
    found = run("""
        import os
        if os.fork() == 0:
            net(torch.ones(8, 4)).sum().backward()
            optimizer.step()
            os._exit(0)
        os.wait()
    """)
    assert found.code == 0, found.log
    assert (tmp_path / "processes.rank0").exists()


PLAIN = """
    for batch, target in DataLoader(data, batch_size=8):
        loss = nn.functional.cross_entropy(net(batch), target)
        optimizer.zero_grad()
        loss.backward()
        show(loss)
        optimizer.step()
"""
HOOKS = {
    "losses.note": "loss",
    "loaders.Loaders.train": "examples",
    "counting.Counting.count": "step",
    "rows.Rows.add": "step",
    "closing.Closing.closes": "step",
    "models.Models.begin": "forward",
    "models.Models.end": "forward",
    "loaders.Loaders.loaded": "data",
    "record.Recorder._before_optimizer": "step",
    "record.Recorder._after_optimizer": "step",
    "ending.Ending.go_on": "step",
}
"""By a part of the probe that raises: the figure that it turns off."""


@pytest.fixture(scope="module")
def of_plain() -> list[float]:
    """The losses of the plain loop without the probe."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + dedent(PLAIN)],
        check=True, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    return [float(line.split()[1]) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("place", HOOKS)
def test_an_error_of_the_probe_is_never_the_scripts(run: Run, of_plain: list[float], place: str) -> None:
    """The script ends as without the probe, and with the same output, but for where the probe would have ended it."""
    module, *inside, name = place.split(".")
    found = run(f"""
        import bench_probe.record
        from bench_probe import closing, counting, ending, hooks, loaders, losses, models, record, rows, spans
        from bench_probe import torch_private
        def broken(*_arguments, **_options):
            raise ZeroDivisionError("planted")
        place = {".".join([module, *inside])}
        setattr(place, {name!r}, broken)
        {PLAIN.replace(chr(10), chr(10) + 4 * " ")}
        print("ended")
    """)
    assert found.code == 0, found.log
    assert "Traceback" not in found.log
    losses = [float(line.split()[1]) for line in found.log.splitlines() if line.startswith("LOSS")]
    whole = HOOKS[place] == "step"
    assert ("ended" in found.log.splitlines()) == whole
    assert len(losses) == (100 if whole else 1 + ASKED)
    assert losses == of_plain[: len(losses)]
    assert "ZeroDivisionError: planted" in found.facts["errors"][HOOKS[place]]
    assert set(found.facts["errors"]) == {HOOKS[place]}


CALLS = {
    "pauses": ("del hooks.SAVING", "torch.save({}, '/dev/null')"),
    "forward": ("models.Models.count = broken", "torch.compile(lambda x: net(x), backend='eager')(batch)"),
    "loss": ("losses.local = broken", "torch.amp.GradScaler('cpu').scale(loss)"),
    "step": ("rows.Rows.add = broken", "bench_probe.step()"),
}
"""By the figure that it turns off: a fault of the probe, and a call of the script that meets it."""


@pytest.mark.parametrize("figure", CALLS)
def test_an_error_in_a_call_of_the_script_is_never_the_scripts(
    run: Run, of_plain: list[float], figure: str
) -> None:
    fault, call = CALLS[figure]
    found = run(f"""
        import bench_probe.record
        from bench_probe import hooks, losses, models, rows
        def broken(*_arguments, **_options):
            raise ZeroDivisionError("planted")
        {fault}
        {PLAIN.replace(chr(10), chr(10) + 4 * " ")}
            {call}
    """)
    assert found.code == 0, found.log
    assert "Traceback" not in found.log
    losses = [float(line.split()[1]) for line in found.log.splitlines() if line.startswith("LOSS")]
    assert losses == of_plain[: len(losses)]
    assert figure in found.facts["errors"]


@pytest.mark.parametrize("place", ["losses.note", "models.Models.begin", "loaders.Loaders.train"])
def test_out_of_memory_and_an_exit_pass_through_the_hooks(run: Run, place: str) -> None:
    for error in ("MemoryError()", "SystemExit(3)", "KeyboardInterrupt()"):
        found = run(f"""
            import bench_probe.record
            from bench_probe import hooks, loaders, losses, models
            def ends(*_arguments):
                raise {error}
            {place} = ends
            {PLAIN.replace(chr(10), chr(10) + 8 * " ")}
        """)
        assert found.code == (3 if "3" in error else 1), error
        for left in ("outcome.rank0.json", "steps.rank0.raw"):
            (found.scratch / left).unlink(missing_ok=True)


UNREAL = {
    "meta": """
        with torch.device("meta"):
            nn.Linear(4, 4)(torch.randn(8, 4)).square().mean().backward()
    """,
    "fake": """
        from torch._subclasses.fake_tensor import FakeTensorMode
        with FakeTensorMode():
            nn.Linear(4, 4)(torch.randn(8, 4)).square().mean().backward()
    """,
    "functorch": """
        torch.func.vmap(torch.func.grad(lambda x: net(x).square().mean()))(torch.randn(8, 4))
    """,
    "export": """
        torch.export.export(nn.Sequential(nn.Linear(4, 4)), (torch.randn(8, 4),))
    """,
}


@pytest.mark.parametrize("kind", UNREAL)
def test_passes_that_train_nothing_are_not_recorded(run: Run, kind: str) -> None:
    """They come before training, and between two steps of it."""
    found = run(f"""
        def odd():
            {UNREAL[kind].strip().replace(chr(10), chr(10) + 4 * " ")}
        odd()
        for number, (batch, target) in enumerate(DataLoader(data, batch_size=8)):
            loss = nn.functional.cross_entropy(net(batch), target)
            optimizer.zero_grad()
            loss.backward()
            show(loss)
            optimizer.step()
            if number == 4:
                odd()
    """)
    assert found.code == 0, found.log
    assert found.column("loss") == found.shown
    assert found.facts["errors"] == {}
    assert found.counts["examples"] == 8 * MEASURED_STEPS


def test_a_loss_of_a_subclass_that_refuses_is_unknown(run: Run) -> None:
    found = run("""
        class Refuses(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, arguments=(), options=None):
                if function is torch.Tensor.item:
                    raise RuntimeError("this has no value")
                return super().__torch_function__(function, types, arguments, options or {})
        for batch, target in DataLoader(data, batch_size=8):
            loss = nn.functional.cross_entropy(net(batch), target).as_subclass(Refuses)
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
    """)
    assert found.code == 0, found.log
    assert found.facts["errors"] == {}
    assert set(found.column("loss")) == {UNKNOWN_LOSS}


GROUPS = """
    optimizer = torch.optim.AdamW([{{"params": [p for p in net.parameters() if p.dim() > 1]}},
                                   {{"params": [p for p in net.parameters() if p.dim() < 2], "weight_decay": 0.0}}])
    for number, (batch, target) in enumerate(DataLoader(data, batch_size=8)):
        loss = nn.functional.cross_entropy(net(batch), target)
        loss.backward()
        show(loss)
        groups = optimizer.param_groups
        for group in groups[: {most}]:
            optimizer.param_groups = [group]
            optimizer.step()
            import time
            time.sleep(0.01)
            optimizer.param_groups = groups
        optimizer.zero_grad()
"""


@pytest.mark.parametrize("most", ["2", "1 + number % 2", "1 if number < 6 else 2"])
def test_a_step_for_each_group_of_parameters_is_one_step(run: Run, most: str) -> None:
    """As DeepSpeed's ZeRO takes them: the step ends with the last of them, and the last one asked for is whole."""
    found = run(GROUPS.format(most=most))
    assert found.code == 0, found.log
    assert len(found.column("loss")) == ASKED
    assert found.column("loss") == found.shown
    assert found.counts == {"examples": 8 * 5, "tokens": 0, "steps": 5, "skipped": 0}
    if most == "2":
        assert min(found.column("optimizer_ns")) > 0
        assert min(found.column("step_ns")[1:8]) > 20e6


def test_without_backward_passes_each_call_of_step_is_a_step(run: Run) -> None:
    found = run("""
        for batch, target in DataLoader(data, batch_size=8):
            loss = nn.functional.cross_entropy(net(batch), target)
            for parameter, gradient in zip(net.parameters(), torch.autograd.grad(loss, [*net.parameters()])):
                parameter.grad = gradient
            optimizer.step()
    """)
    assert found.code == 0, found.log
    assert len(found.column("step_ns")) == ASKED


@pytest.mark.parametrize(("count", "ok"), [(9, True), (8, False), (10, True)])
def test_a_script_that_ends_after_its_measured_steps_has_them_all(run: Run, count: int, ok: bool) -> None:
    """3 and 5 steps are asked for, after the first one, which is not recorded."""
    found = run(f"""
        for number, (batch, target) in zip(range({count}), DataLoader(data, batch_size=8)):
            nn.functional.cross_entropy(net(batch), target).backward()
            optimizer.step()
    """)
    assert found.code == 0, found.log
    assert ("parameters" in found.said) == ok
    assert "is_ended_by_us" not in found.said
    problem = found.facts["profile_problem"]
    assert problem is None if not ok else "ended before its profiled steps" in problem
