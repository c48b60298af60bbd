"""One session on one GPU through the real command line: the required contents of its database, and no leftovers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pynvml
import pytest
from processes import Marked

from analysis.database import connections
from bench.agent.fork_server import WarmServer

pytestmark = pytest.mark.gpu

SUITE = """
title: One GPU
workload: {name: transformer_lm, layers: 2, d_model: 256, heads: 4, sequence_length: 128, vocab_size: 4096,
           validation_examples: 8}
device: cuda
train: {precision: bf16, learning_rate: 1e-3}
measure: {warmup: 5, steps: 40, repeats: 1, timeout_s: 300}
cases:
  - name: too_large          # a picture takes some 200 MB, yet no tensor has 2^31 elements
    workload: {name: resnet50, layers: [3, 8, 100, 3], validation_examples: 0}
    strategy: single
    scaling: none
    batch_per_rank: 2048
    world: [1]
  - {name: after, strategy: single, scaling: none, batch_per_rank: 32, world: [1], measure: {steps: 400, profiled: 2}}
  - {name: fused, strategy: single, scaling: none, batch_per_rank: 32, world: [1], train: {fused_optimizer: true}}
  - {name: tf32, strategy: single, scaling: none, batch_per_rank: 32, world: [1], train: {precision: tf32}}
  - {name: fp16, strategy: single, scaling: none, batch_per_rank: 32, world: [1], train: {precision: fp16}}
  - name: compiled
    strategy: single
    scaling: none
    batch_per_rank: 32
    world: [1]
    measure: {validate_every: 20}
    train: {compile: true, compile_loss: true, fused_optimizer: true, accumulate: 2}
    matrix: {train.compile_mode: [default, reduce-overhead]}
  - name: convolutions
    strategy: single
    scaling: none
    batch_per_rank: 32
    world: [1]
    workload: {name: resnet50, image_size: 64, classes: 10, layers: [1, 1, 1, 1], validation_examples: 0}
    train: {cudnn_benchmark: true}
  - name: replayed_pictures     # their constants must not belong to a graph
    strategy: single
    scaling: none
    batch_per_rank: 32
    world: [1]
    workload: {name: resnet50, image_size: 64, classes: 10, layers: [1, 1, 1, 1], validation_examples: 0}
    train: {compile: true, compile_loss: true, compile_mode: reduce-overhead}
  - name: replayed_diffusion
    strategy: single
    scaling: none
    batch_per_rank: 32
    world: [1]
    workload: {name: ddpm_unet, base_channels: 32, channel_multipliers: [1, 2], num_res_blocks: 1, image_size: 16,
               validation_examples: 0}
    train: {compile: true, compile_loss: true, compile_mode: reduce-overhead}
  - name: found
    strategy: single
    scaling: none
    world: [1]
    find_batch: {smallest: 16, largest: 1024}
    measure: {memory_limit_bytes: 512MiB}
  - {name: shared, strategy: ddp, scaling: strong, global_batch: 32, world: [1, 2]}
"""
MIB = 2**20


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gpu")
    (folder / "gpu.yaml").write_text(SUITE)
    marked = Marked(folder)
    # use one GPU on every machine: two ranks have to share it
    marked.environment["CUDA_VISIBLE_DEVICES"] = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    command = ["suite", str(folder / "gpu.yaml"), "--results", str(folder / "r"), "--session", "gpu"]
    done = marked.run(*command, "--oversubscribe")
    assert done.returncode == 1, done.stdout + done.stderr  # too_large
    assert marked.left() == []
    return folder / "r"


def ask(results: Path, query: str) -> list[tuple[Any, ...]]:
    with connections.reader(results) as connection:
        return connection.execute(query).fetchall()


def test_every_case_trains_but_the_one_that_does_not_fit(results: Path) -> None:
    rows = ask(results, "SELECT run_id, status, error FROM runs WHERE NOT probe AND status <> 'ok'")
    assert [(run_id, status) for run_id, status, _ in rows] == [("too_large.1x1.r0", "oom")]
    assert "out of memory" in rows[0][2].lower()


def test_memory_is_given_back_before_the_next_run(results: Path) -> None:
    """The first sample after the run that filled the GPU is taken when that run's processes are gone."""
    used = dict(
        ask(
            results,
            "SELECT case_name, CASE case_name WHEN 'after' THEN arg_min(memory_used_bytes, time_ns) "
            "ELSE max(memory_used_bytes) END FROM samples JOIN runs USING (session_id, run_id, attempt) "
            "WHERE device IS NOT NULL AND case_name IN ('too_large', 'after') GROUP BY case_name",
        )
    )
    assert used["after"] < 0.3 * used["too_large"]


def test_sensors_read_what_can_be(results: Path) -> None:
    columns = (
        "power_w", "energy_j", "temperature_c", "sm_clock_mhz", "gpu_busy_share", "memory_used_bytes",
        "throttle_reasons",
    )  # fmt: skip
    spans = ", ".join(f"min({name}), max({name})" for name in columns)
    joined = "FROM samples JOIN runs USING (session_id, run_id, attempt)"
    ((*found,),) = ask(results, f"SELECT {spans} {joined} WHERE device IS NOT NULL AND case_name = 'after'")
    spans_of = dict(zip(columns, zip(found[::2], found[1::2], strict=True), strict=True))
    assert 5 < spans_of["power_w"][0] <= spans_of["power_w"][1] < 2_000
    assert spans_of["energy_j"][1] > spans_of["energy_j"][0] > 0
    assert 5 < spans_of["temperature_c"][0] <= spans_of["temperature_c"][1] < 120
    assert 50 < spans_of["sm_clock_mhz"][1] < 5_000
    assert 0 <= spans_of["gpu_busy_share"][0] <= spans_of["gpu_busy_share"][1] <= 1
    assert spans_of["memory_used_bytes"][1] > 100 * MIB
    assert spans_of["throttle_reasons"][0] is not None


def test_energy_grows_as_power_says(results: Path) -> None:
    """Compare the counter's rise over a run with the mean of its power readings; the driver gives both."""
    ((rise, mean_w, seconds),) = ask(
        results,
        "SELECT max(energy_j) - min(energy_j), avg(power_w), (max(time_ns) - min(time_ns)) / 1e9 "
        "FROM samples JOIN runs USING (session_id, run_id, attempt) "
        "WHERE device IS NOT NULL AND case_name = 'after'",
    )
    assert rise == pytest.approx(mean_w * seconds, rel=0.5)


def test_flops_and_energy_become_shares_and_prices(results: Path) -> None:
    rows = ask(
        results,
        "SELECT case_name, flops_per_s, peak_flops_per_s, mfu, mfu_problem FROM utilisation ORDER BY ALL",
    )
    assert len(rows) == 12
    for _, flops_per_s, peak, mfu, problem in rows:
        assert flops_per_s > 0
        assert (mfu is None) == (peak is None)  # a GPU that no table knows has none
        assert mfu is None or 0 < mfu < 1
        assert problem is None
    ((j_per_example, power_w, gpu_hours),) = ask(
        results,
        "SELECT j_per_example, power_w, gpu_hours_per_million_examples FROM energy WHERE case_name = 'after'",
    )
    assert j_per_example > 0
    assert 5 < power_w < 2_000
    assert gpu_hours > 0


def test_profiled_steps_see_the_kernels(results: Path) -> None:
    rows = ask(
        results,
        "SELECT step_ns, compute_ns, communication_ns FROM profile JOIN runs USING (session_id, run_id, attempt) "
        "WHERE case_name = 'after'",
    )
    assert len(rows) == 2
    for step_ns, compute_ns, communication_ns in rows:
        assert 0 < compute_ns <= step_ns
        assert communication_ns == 0  # one rank without a group


def test_steps_have_phases_that_add_up_and_the_allocators_peaks(results: Path) -> None:
    of_ok = "FROM steps JOIN runs USING (session_id, run_id, attempt) WHERE status = 'ok' AND NOT probe"
    ((steps, apart, unknown, odd),) = ask(
        results,
        "SELECT count(*), count(*) FILTER (step_ns <> data_ns + forward_ns + backward_ns + optimizer_ns), "
        "count(*) FILTER (memory_allocated_bytes IS NULL), "
        f"count(*) FILTER (memory_allocated_bytes > memory_reserved_bytes) {of_ok}",
    )
    assert steps > 400
    assert (apart, unknown, odd) == (0, 0, 0)


def test_compiled_and_replayed_training_has_the_losses_of_the_eager_one(results: Path) -> None:
    rows = ask(
        results,
        "SELECT step, max(loss) FILTER (case_name = 'fused'), min(loss) FILTER (case_name <> 'fused'), "
        "max(loss) FILTER (case_name <> 'fused') FROM steps JOIN runs USING (session_id, run_id, attempt) "
        "WHERE (case_name = 'fused' OR case_name LIKE 'compiled%') AND step < 20 GROUP BY step ORDER BY step",
    )
    assert len(rows) == 20
    assert rows[-1][1] < rows[0][1]
    for _, eager, least, most in rows:
        assert (least, most) == (pytest.approx(eager, rel=2e-2), pytest.approx(eager, rel=2e-2))
    recompiles = ask(
        results, "SELECT DISTINCT measured_recompiles FROM runs WHERE case_name LIKE 'compiled%'"
    )
    assert recompiles == [(0,)]


def test_ranks_that_share_the_gpu_train_the_same_through_gloo_and_say_so(results: Path) -> None:
    said = ask(
        results,
        "SELECT world_size, oversubscribed, fingerprint ->> 'transport' FROM runs WHERE case_name = 'shared' "
        "ORDER BY world_size",
    )
    assert said[0] == (1, False, None)
    assert said[1][:2] == (2, True)
    assert "gloo" in said[1][2]
    assert "share a GPU" in said[1][2]
    rows = ask(
        results,
        "SELECT step, avg(loss) FILTER (world_size = 1), avg(loss) FILTER (world_size = 2) "
        "FROM steps JOIN runs USING (session_id, run_id, attempt) WHERE case_name = 'shared' AND step < 20 "
        "GROUP BY step",
    )
    assert len(rows) == 20
    for _, alone, together in rows:
        assert together == pytest.approx(alone, rel=2e-2)


def test_the_largest_batch_that_fits_is_found_by_the_allocators_limit(results: Path) -> None:
    ((fits, too_large, available, used),) = ask(
        results,
        "SELECT largest_micro_batch, too_large_micro_batch, available_bytes, used_bytes FROM batch_limits",
    )
    assert fits >= 16
    assert too_large == 2 * fits
    assert available == 512 * MIB
    assert 0 < used <= available


def test_ranks_are_forked_from_a_process_that_never_touched_the_gpu() -> None:
    server = WarmServer()
    server.start()
    said = json.loads(server.ask("tests.e2e.gpu.forked", ""))
    assert said == {"inherited": False, "contexts": []}
    pynvml.nvmlInit()
    try:
        handles = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
        on_gpus = [
            one.pid for handle in handles for one in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
        ]
    finally:
        pynvml.nvmlShutdown()
    assert server.pid not in on_gpus
