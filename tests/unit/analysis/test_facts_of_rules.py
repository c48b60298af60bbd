"""Facts that load keeps for the rules on drift and on slowed GPUs."""

from __future__ import annotations

import pytest

from tests.factory import Case, make_session
from tests.rewriting import rewrite_steps


def test_of_an_odd_number_of_measured_steps_the_middle_one_is_in_the_second_half(results, read_back):
    folder = make_session(results, [Case(name="ddp", step_ms={1: 20.0}, warmup=1, steps=5, repeats=1)])
    lasts = [50, 10, 20, 30, 40, 50]
    starts = [sum(lasts[:place]) for place in range(6)]
    columns = {"step_ns": lasts, "start_ns": starts, "forward_ns": lasts}
    rewrite_steps(folder, "ddp.1x1.r0", {name: [ms * 1_000_000 for ms in of] for name, of in columns.items()})
    (row,) = read_back()("FROM run_stats")
    assert (row["step_ns_mean_first_half"], row["step_ns_mean_second_half"]) == (15e6, 40e6)


@pytest.mark.parametrize(
    ("mask", "power_cap", "heat", "protection"),
    [
        (0x00, 0, 0, 0),
        (0x01 | 0x02 | 0x10 | 0x100, 0, 0, 0),  # idle, or at a clock that a user set
        (0x04, 1, 0, 0),
        (0x20, 0, 1, 0),
        (0x08 | 0x40, 0, 1, 0),  # the hardware slows down because of heat
        (0x08, 0, 0, 1),
        (0x08 | 0x80 | 0x04, 1, 0, 1),
    ],
)
def test_reasons_for_lower_clocks_are_told_apart(measure, mask, power_cap, heat, protection):
    case = Case(name="ddp", step_ms={1: 400.0}, repeats=1, device_type="cuda", gpu={"throttle_reasons": mask})
    (row,) = measure(case)("FROM run_device_stats WHERE device IS NOT NULL")
    assert row["throttle_readings"] > 5
    shares = (row["power_cap_share"], row["heat_share"], row["hardware_slowdown_share"])
    assert shares == (power_cap, heat, protection)


def test_what_lay_on_a_gpu_is_known_only_from_before_its_ranks(measure):
    seen = Case(name="seen", step_ms={1: 20.0}, repeats=1, device_type="cuda", found_bytes=7)
    unseen = Case(name="unseen", step_ms={1: 20.0}, repeats=1, device_type="cuda")
    rows = measure(seen, unseen)("FROM run_device_stats WHERE device IS NOT NULL ORDER BY run_id")
    assert [row["memory_used_bytes_first"] for row in rows] == [7, None]
