"""Causes planted in pairs, all rules asked at once: each session has its findings, with these options, and no more."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from analysis.loading.load import load
from tests.factory import BEGAN, Case, make_session
from tests.planted import Planted, Step, plant
from tests.rewriting import rewrite_steps
from tests.unit.analysis.conftest import Rows, ask

GB = 10**9
GPU = {"0": {f"gpu{number}_memory_bytes": str(80 * GB) for number in range(4)}}
CLOCKS = {1: 1500.0, 2: 1250.0}
"""A sixth lower on two ranks."""


def about(**parts: float) -> list[Step]:
    """Three repeats that are not quite alike."""
    return [Step(**{name: factor * ms for name, ms in parts.items()}) for factor in (0.999, 1.0, 1.001)]


def weak(here: list[Step], **more: object) -> Planted:
    return Planted(steps={1: about(computation=400.0), 2: here}, strategy="fsdp", scaling="weak", **more)


def full(name: str, **more: object) -> Case:
    return Case(name=name, step_ms={4: 40.0}, device_type="cuda", **more)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    by_clocks = {
        # The clock is a sixth lower and takes 80 of 480 ms. With 600 ms it takes 100, another cause 100 more.
        "clocks": weak(about(computation=480.0), profiled="all", clock_mhz=CLOCKS),
        "clocks_and_more": weak(about(computation=600.0), profiled="all", clock_mhz=CLOCKS),
    }
    plant(folder, by_clocks, "clocks")
    both = {1: about(computation=10.0, other=2.0), 2: about(computation=10.0, other=2.0, communication=3.0)}
    one_side = Planted(steps=both, scaling="weak", profiled=frozenset({1}))
    plant(folder, {"one_side_profiled": one_side}, "ways")
    compared = {
        "one": Planted(steps={1: about(computation=10.0)}, strategy="single", scaling="none", profiled="all"),
        "two": Planted(steps={2: about(computation=5.0, communication=5.0)}, baseline="one", profiled="all"),
        "three": Planted(steps={2: about(computation=5.0)}, strategy="fsdp", baseline="one", profiled="all"),
    }
    plant(folder, compared, "baseline")
    all_oom = {(4, repeat): "oom" for repeat in range(3)}
    cases = [
        full("full", memory_bytes=74 * GB, outcome={"parameters": 2 * 10**9}),
        full("too_large", statuses=all_oom, options={"hidden": [9]}, outcome={"parameters": 10**10}),
    ]
    make_session(folder, cases, environment=GPU, session_id="memory")
    idle = {"shares": (0.0, 0.3, 0.6, 0.1), "gpu": {"gpu_util_pct": 30.0}}
    cases = [
        full("idle", memory_bytes=8 * GB, **idle),
        full("no_room", memory_bytes=40 * GB, **idle),
        full("once", memory_bytes=8 * GB, repeats=1, **idle),
    ]
    variables = {"CUDA_LAUNCH_BLOCKING": "0", "PYTORCH_NO_CUDA_MEMORY_CACHING": "0"}
    make_session(folder, cases, environment={"0": GPU["0"] | variables}, session_id="idle")
    slower = {1: [10.0, 10.1, 10.2], 2: [15.0, 15.1, 15.2]}
    folder_of_wrong = make_session(
        folder, [Case(name="wrong", step_ms=slower, outcome={"same_batch": True})], session_id="wrong"
    )
    for repeat in range(3):
        rewrite_steps(folder_of_wrong, f"wrong.1x2.r{repeat}", {"loss": [1.0] * 12})
    growing = {
        n: about(computation=200.0 / n, communication=ms) for n, ms in {1: 0, 2: 10, 4: 20, 8: 35}.items()
    }
    plant(folder, {"growing": Planted(steps=growing, strategy="fsdp", profiled="all")}, "serial")
    for suite, days in {"usual": (*[10.0] * 6, 11.0), "young": (10.0, 12.0)}.items():
        for day, step_ms in enumerate(days):
            case = Case(name="ddp", step_ms={2: [0.999 * step_ms, step_ms, 1.001 * step_ms]})
            began = BEGAN + timedelta(days=day)
            make_session(folder, [case], session_id=f"{suite}{day}", suite=suite, created_at=began)
    load(folder)
    return folder


@pytest.fixture(scope="module")
def found(results: Path) -> Rows:
    return ask(results, "FROM diagnosis")


SHARD = "--set cases.{}.strategy=fsdp"
ALL_BATCHES = " ".join(
    f"--set cases.{key}=256" for key in ("two.global_batch", "one.batch_per_rank", "three.global_batch")
)
OPTIONS = {
    "clocks": {
        ("clocks", "lower_clocks"): None,
        ("clocks_and_more", "lower_clocks"): None,
        ("clocks_and_more", "contention"): None,
    },
    "ways": {},
    # A new batch applies to both sides of a ratio, and to every other case with the same baseline.
    "baseline": {("two", "small_batch"): ALL_BATCHES, ("two", "small_model"): None},
    # A case that ran out of memory gets the advice to shard only once.
    "memory": {
        ("full", "fragmentation"): None,
        ("full", "replicated_memory"): SHARD.format("full"),
        ("too_large", "out_of_memory"): SHARD.format("too_large"),
    },
    "idle": {
        (None, "debugging_left_on"): None,
        ("idle", "low_utilisation"): "--set cases.idle.global_batch=256",
        ("once", "low_utilisation"): "--set cases.once.global_batch=256",
        ("no_room", "low_utilisation"): None,
    },
    # Profiling is done: then the batch is next.
    "serial": {
        ("growing", "serial_fraction"): "--set cases.growing.global_batch=256",
        ("growing", "small_batch"): "--set cases.growing.global_batch=512",
        ("growing", "small_model"): None,
    },
    "usual6": {("ddp", "regression"): None},
    "young1": {("ddp", "regression"): None},
    "wrong": {
        ("wrong", "different_loss"): None,
        ("wrong", "same_batches"): None,
        ("wrong", "negative_scaling"): None,
        ("wrong", "small_batch"): "--set measure.profiled=4",  # its loss is estimated
    },
}


@pytest.mark.parametrize("session_id", OPTIONS)
def test_a_session_of_two_causes_has_these_findings_and_no_others(found, session_id):
    options = {
        (row["case_name"], row["finding"]): row["options"] for row in found if row["session_id"] == session_id
    }
    assert options == OPTIONS[session_id]


def test_a_training_that_is_wrong_comes_before_its_speed(found):
    wrong = sorted((row["finding_order"], row["finding"]) for row in found if row["session_id"] == "wrong")
    assert [name for _, name in wrong][:3] == ["different_loss", "same_batches", "negative_scaling"]


def test_computation_is_compared_in_one_way_that_both_sides_know(results):
    (row,) = ask(results, "FROM computation_growth WHERE session_id = 'ways'")
    assert row["known_by"] == "estimated"
    assert row["growth"] == pytest.approx(0.0, abs=1e-3)


def test_what_lower_clocks_cost_is_no_growth_of_computation(results):
    rows = ask(results, "FROM computation_growth WHERE session_id = 'clocks' ORDER BY case_name")
    assert [row["clocks_ms"] for row in rows] == pytest.approx([80.0, 100.0], rel=0.01)
    assert [row["growth"] for row in rows] == pytest.approx([0.0, 0.25], abs=0.01)


def test_what_no_interval_and_no_earlier_session_supports_is_likely(found):
    sure = {(row["session_id"], row["case_name"]): row["certainty"] for row in found}
    asked = [("usual6", "ddp"), ("young1", "ddp"), ("idle", "idle"), ("idle", "once")]
    assert [sure[key] for key in asked] == ["shown", "likely", "shown", "likely"]


def test_caching_is_off_by_any_value_and_kernels_are_waited_for_by_none_of_0(found):
    (row,) = [row for row in found if row["finding"] == "debugging_left_on"]
    assert row["evidence"] == "PYTORCH_NO_CUDA_MEMORY_CACHING=0 was set where the session ran"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("two", "--set cases.two.k=1 --set cases.one.k=1"),
        ("two~k=3", None),
        ("two~j=3", "--set cases.two.k=1 --set cases.one.k=1"),
    ],
)
def test_an_option_of_several_cases_is_one_of_each_or_none(in_memory, name, options):
    compared = [{"case_name": case, "batch_key": "k", "batch": 1} for case in (name, "one")]
    row = in_memory.execute("SELECT option_of_all($1, 'k', 1), batch_option_of($1, 1)", [compared]).fetchone()
    assert row == (options, options)
