"""Pauses of a script between its training calls."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.probe.recorded import MEASURED_STEPS, WARMUP_STEPS, Run

LOOP = """
import copy, time
average = copy.deepcopy(net)
validation = DataLoader(data, batch_size=400)
def sampled(model):
    with torch.inference_mode():
        model(torch.ones(6, 4))
        time.sleep(0.1)
for step, (batch, target) in enumerate(DataLoader(data, batch_size=8)):
    time.sleep(0.02)
    nn.functional.cross_entropy(net(batch), target).backward()
    optimizer.step()
    if step == 5:
        {pause}
"""
PAUSES = {
    "a copy after the model": "sampled(net), sampled(average)",
    "a copy before the model": "time.sleep(0.1), sampled(average), sampled(net)",
    "forward itself": "sampled(net), sampled(net.forward)",
    "batches before the model": "time.sleep(0.1), next(iter(validation)), sampled(net)",
    "an own class of model": "sampled(lambda x: average(x)), sampled(net), time.sleep(0.1)",
}


@pytest.mark.parametrize("kind", PAUSES)
def test_a_pause_goes_from_training_call_to_training_call(run: Run, kind: str) -> None:
    """Without the 20 ms that each step takes before its forward pass."""
    found = run(LOOP.format(pause=PAUSES[kind]))
    assert found.code == 0, found.log
    (of_step,) = found.pauses.values()
    assert of_step.keys() == {"validation"}
    planted_s = 0.1 * (PAUSES[kind].count("sampled(") + PAUSES[kind].count("sleep"))
    assert of_step["validation"] >= planted_s - 1e-3
    step_s = np.array(found.column("step_ns")) / 1e9
    assert (step_s >= 0.02).all()
    assert step_s.max() < planted_s


def test_a_save_within_a_validation_has_its_own_kind(run: Run) -> None:
    found = run(
        LOOP.format(pause="sampled(net), torch.save(Slow(), '/dev/null'), sampled(net)").replace(
            "import copy, time",
            "import copy, time\nclass Slow:\n    def __reduce__(self):\n        time.sleep(0.3)\n"
            "        return (int, ())",
        )
    )
    assert found.code == 0, found.log
    (of_step,) = found.pauses.values()
    assert 0.3 <= of_step["saving"] < of_step["saving"] + of_step["validation"]
    assert of_step["validation"] >= 0.2


@pytest.mark.parametrize("next_to_it", ["", "torch.save({}, '/dev/null')\n        "])
def test_a_stall_of_the_scripts_own_loader_is_in_its_step(run: Run, next_to_it: str) -> None:
    found = run(LOOP.format(pause=f"{next_to_it}time.sleep(0.2)"))
    assert found.code == 0, found.log
    assert max(found.column("step_ns")) >= 200_000_000
    assert all(of_step["saving"] < 0.1 for of_step in found.pauses.values())


def test_all_time_of_the_rows_is_in_a_step_or_in_a_pause(run: Run) -> None:
    found = run(LOOP.format(pause=PAUSES["batches before the model"]))
    assert found.code == 0, found.log
    of_run = slice(WARMUP_STEPS, WARMUP_STEPS + MEASURED_STEPS)
    start, step = (np.array(found.column(name))[of_run] for name in ("start_ns", "step_ns"))
    between_ns = start[1:] - (start + step)[:-1]
    paused_ns = {number: of["validation"] * 1e9 for number, of in found.pauses.items()}
    for number, gap_ns in enumerate(between_ns, start=WARMUP_STEPS + 1):
        assert gap_ns == pytest.approx(paused_ns.get(number, 0), abs=1)
    assert paused_ns
