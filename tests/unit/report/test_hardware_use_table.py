"""The table of the page and the column of the terminal that say how much of the hardware was used."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from analysis import summary
from analysis.report.sections.hardware_use_table import hardware_use
from tests.factory import Case
from tests.unit.analysis.conftest import Stored, stored_as
from tests.unit.report.conftest import table_of
from tests.unit.report.test_session_page import rows_of, words

STEPS = {1: 100.0}
GPU: dict[str, Any] = {"device_type": "cuda", "precision": "bf16", "step_ms": STEPS}
counted = stored_as(
    Case(name="ddp", flops_per_example=1e11, **GPU),
    Case(name="wrong", flops_per_example=2e12, **GPU),
    Case(name="cpu", flops_per_example=1e6, step_ms=STEPS),
    Case(name="uncounted", step_ms=STEPS),
)
"""64 examples of 1e11 FLOPs in 100 ms on a GPU of 989.4 TFLOP/s, of 2e12 beyond it; a CPU."""


@counted
def test_the_page_has_rates_costs_and_what_cannot_be_right(stored: Stored) -> None:
    shown = hardware_use(table_of(*stored, "hardware_use"))
    head, *rows = rows_of(shown)
    columns = [
        "case",
        "placement",
        "precision",
        "FLOP/s of a device",
        "MFU [95 %]",
        "power",
        "examples/J [95 %]",
    ]
    assert head == " ".join([*columns, "energy / million", "GPU-hours / million"])
    assert rows == [
        "ddp 1x1 bf16 64.0 TFLOP/s 6.47 % [6.47, 6.47] 600 W 1.07 [1.07, 1.07] 938 kJ 0.434",
        "wrong 1x1 bf16 1,280 TFLOP/s – 600 W 1.07 [1.07, 1.07] 938 kJ 0.434",
        "cpu 1x1 fp32 640 MFLOP/s – – – – –",
    ]
    assert "wrong 1x1: 1280.0 TFLOP/s are 1.29 times the peak of NVIDIA H200." in words(shown)


@counted
def test_the_text_explains_the_columns_that_are_there(stored: Stored) -> None:
    rows = table_of(*stored, "hardware_use")
    assert all(word in words(hardware_use(rows)) for word in ("MFU:", "Energy:", "Costs"))
    only_cpu = words(hardware_use([row for row in rows if row["case_name"] == "cpu"]))
    assert "FLOP/s of one device" in only_cpu
    assert not any(word in only_cpu for word in ("MFU", "matmul", "Energy", "Costs"))


@counted
def test_the_terminal_has_a_column_where_a_peak_is_known(stored: Stored) -> None:
    said = io.StringIO()
    summary.show(*stored, wide=True, out=Console(file=said, width=300))
    lines = said.getvalue().splitlines()
    assert sum("TFLOP/s (MFU)" in line for line in lines) == 1
    assert next("64.0 (6.5 %)" in line for line in lines if line.startswith("ddp"))
    assert any("1280 (over 100 %)" in line for line in lines if line.startswith("wrong"))
