"""Facts that load keeps for the rules on drift and on slowed GPUs."""

from __future__ import annotations

import pytest

from tests.factory import Case
from tests.rewriting import rewrite_steps
from tests.unit.analysis.conftest import measured, session_of


def _uneven_steps(folder):
    lasts = [50, 10, 20, 30, 40, 50]
    starts = [sum(lasts[:place]) for place in range(6)]
    columns = {"step_ns": lasts, "start_ns": starts, "forward_ns": lasts}
    rewrite_steps(folder, "ddp.1x1.r0", {name: [ms * 1_000_000 for ms in of] for name, of in columns.items()})


@measured(Case(name="ddp", step_ms={1: 20.0}, warmup=1, steps=5, repeats=1), changed=_uneven_steps)
def test_of_an_odd_number_of_measured_steps_the_middle_one_is_in_the_second_half(ask):
    (row,) = ask("FROM run_stats")
    assert (row["step_ns_mean_first_half"], row["step_ns_mean_second_half"]) == (15e6, 40e6)


def _throttled(mask):
    return session_of(
        Case(name="ddp", step_ms={1: 400.0}, repeats=1, device_type="cuda", gpu={"throttle_reasons": mask})
    )


@pytest.mark.parametrize(
    ("ask", "power_cap", "heat", "protection"),
    [
        (_throttled(0x00), 0, 0, 0),
        (_throttled(0x01 | 0x02 | 0x10 | 0x100), 0, 0, 0),  # idle, or at a clock that a user set
        (_throttled(0x04), 1, 0, 0),
        (_throttled(0x20), 0, 1, 0),
        (_throttled(0x08 | 0x40), 0, 1, 0),  # the hardware slows down because of heat
        (_throttled(0x08), 0, 0, 1),
        (_throttled(0x08 | 0x80 | 0x04), 1, 0, 1),
    ],
    indirect=["ask"],
)
def test_reasons_for_lower_clocks_are_told_apart(ask, power_cap, heat, protection):
    (row,) = ask("FROM run_device_stats WHERE device IS NOT NULL")
    assert row["throttle_readings"] > 5
    shares = (row["power_cap_share"], row["heat_share"], row["hardware_slowdown_share"])
    assert shares == (power_cap, heat, protection)


@measured(
    Case(name="seen", step_ms={1: 20.0}, repeats=1, device_type="cuda", found_bytes=7),
    Case(name="unseen", step_ms={1: 20.0}, repeats=1, device_type="cuda"),
)
def test_what_lay_on_a_gpu_is_known_only_from_before_its_ranks(ask):
    rows = ask("FROM run_device_stats WHERE device IS NOT NULL ORDER BY run_id")
    assert [row["memory_used_bytes_first"] for row in rows] == [7, None]
