"""FLOP/s against peaks and multiplications, energy, and what a number of examples would take."""

from __future__ import annotations

import pytest

from tests.factory import Case, make_session
from tests.machine_rows import add_matmuls, machine_case
from tests.unit.analysis.conftest import measured

HOUR = 3600


def _case(**values):
    """64 examples of 1e11 FLOPs in 100 ms on one GPU, 50 ms on two; the factory's GPUs take 600 W."""
    given = {
        "name": "ddp",
        "step_ms": {1: 100.0, 2: 50.0},
        "device_type": "cuda",
        "precision": "bf16",
        "flops_per_example": 1e11,
    }
    return Case(**(given | values))


@measured(_case())
def test_flops_are_held_against_the_peak_of_the_devices_precision(ask):
    one, two = ask("FROM utilisation ORDER BY workers")
    assert (one["flops_per_step"], one["devices"], two["devices"]) == (6.4e12, 1, 2)
    assert one["flops_per_s"] == pytest.approx(6.4e13)
    assert two["flops_per_s"] == pytest.approx(1.28e14)
    assert two["flops_per_s_per_device"] == pytest.approx(6.4e13)
    assert one["peak_flops_per_s"] == 989.4e12
    assert (one["mfu"], two["mfu"]) == pytest.approx((64 / 989.4, 64 / 989.4))
    assert (one["mfu_lo"], one["mfu_hi"]) == pytest.approx((one["mfu"], one["mfu"]))
    assert (one["gpu_busy_share"], one["sm_clock_mhz"]) == (0.92, 1980.0)


@measured(_case(step_ms={1: (100.0, 104.0, 96.0)}))
def test_the_interval_of_mfu_is_that_of_throughput(ask):
    (row,) = ask("FROM utilisation JOIN scaling USING (session_id, case_name, workers)")
    for end in ("lo", "hi"):
        assert row[f"mfu_{end}"] / row["mfu"] == pytest.approx(row[f"throughput_{end}"] / row["throughput"])


@measured(_case(step_ms={1: 100.0}, flops_per_example=2e12))
def test_more_than_the_peak_is_an_error_and_no_result(ask):
    (row,) = ask("FROM utilisation")
    assert (row["mfu"], row["mfu_lo"], row["mfu_hi"]) == (None, None, None)
    assert row["mfu_problem"] == "1280.0 TFLOP/s are 1.29 times the peak of NVIDIA H200"


@measured(_case(step_ms={1: 100.0}, train={"float8": True}))
def test_products_in_float8_have_no_known_peak(ask):
    (row,) = ask("FROM utilisation")
    assert row["flops_per_s"] == pytest.approx(6.4e13)
    assert [row[name] for name in ("peak_flops_per_s", "mfu", "mfu_problem", "matmul_share")] == [None] * 4


@measured(
    _case(name="cpu", device_type="cpu", precision="fp32", step_ms={1: 100.0}),
    _case(flops_per_example=None, step_ms={1: 100.0}),
)
def test_a_cpu_has_no_peak_and_a_model_that_was_not_counted_no_flops(ask):
    counted, uncounted = ask("FROM utilisation ORDER BY case_name")
    assert (counted["flops_per_s"], counted["peak_flops_per_s"], counted["mfu"]) == (
        pytest.approx(6.4e13),
        None,
        None,
    )
    assert counted["mfu_problem"] is None
    assert (uncounted["flops_per_s"], uncounted["mfu"], uncounted["peak_flops_per_s"]) == (
        None,
        None,
        989.4e12,
    )


def test_the_share_of_matmul_is_of_the_fastest_one_of_any_session(results, read_back):
    make_session(
        results, [_case(step_ms={1: 100.0}), _case(name="fp32", precision="fp32", step_ms={1: 100.0})]
    )
    for session, time_ns in (("slow", 8_000), ("fast", 4_000)):
        case = machine_case("mm", [1], workload="matmul", device_type="cuda", precision="bf16")
        folder = make_session(results, [case], session_id=session)
        add_matmuls(folder, lambda _spec, _size, time_ns=time_ns: time_ns, sizes=(1024,))
    bf16, fp32 = read_back()("FROM utilisation WHERE case_name <> 'mm' ORDER BY case_name")
    assert bf16["matmul_session_id"] == "fast"
    assert bf16["matmul_flops_per_s"] == pytest.approx(2 * 1024**3 / 4e-6)
    assert bf16["matmul_share"] == pytest.approx(6.4e13 / (2 * 1024**3 / 4e-6))
    assert (fp32["matmul_share"], fp32["matmul_session_id"]) == (None, None)


@measured(
    _case(tokens_per_example=10),
    _case(name="paused", step_ms={1: 100.0}, validate_every=4, validation_ms=300.0),
)
def test_energy_is_that_of_measured_steps_and_not_of_the_pauses_between_them(ask):
    rows = ask("FROM energy ORDER BY case_name, workers")
    for row in rows:
        assert row["energy_j"] == pytest.approx(600)
        assert row["j_per_example"] == pytest.approx(60 / 64)
        assert row["examples_per_j"] == pytest.approx(64 / 60)
        assert row["j_per_million_examples"] == pytest.approx(937_500)
    one, two, _ = rows
    assert (one["power_w"], two["power_w"]) == pytest.approx((600, 1200))
    assert one["j_per_million_tokens"] == pytest.approx(93_750)
    assert one["gpu_hours_per_million_examples"] == pytest.approx(1e6 / 640 / HOUR)
    assert two["gpu_hours_per_million_examples"] == pytest.approx(1e6 / 640 / HOUR)


@measured(_case(device_type="cpu", step_ms={1: 100.0}))
def test_without_a_counter_there_is_no_energy_and_without_a_gpu_no_gpu_hours(ask):
    (row,) = ask("FROM energy")
    assert (row["energy_j"], row["power_w"], row["j_per_example"], row["gpu_hours_per_million_examples"]) == (
        None,
    ) * 4
