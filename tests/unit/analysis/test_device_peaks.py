"""Peaks by the device names that drivers print."""

from __future__ import annotations

import pytest

from analysis.database import connections
from tests.unit.analysis.conftest import fetch

TFLOPS = {
    # name: fp32, tf32, bf16, fp16
    "NVIDIA GB300": (80, 1250, 2500, 2500),
    "NVIDIA GB200": (80, 1250, 2500, 2500),
    "NVIDIA B300 SXM6 AC": (75, 1100, 2250, 2250),
    "NVIDIA B200": (75, 1100, 2250, 2250),
    "NVIDIA GH200 120GB": (67, 494.5, 989.5, 989.5),
    "NVIDIA GH200 480GB": (67, 494.5, 989.5, 989.5),
    "NVIDIA GH200 144G HBM3e": (67, 494.5, 989.5, 989.5),
    "NVIDIA H200": (66.9, 494.7, 989.4, 989.4),
    "NVIDIA H200 NVL": (60, 417.5, 835.5, 835.5),
    "NVIDIA H100 80GB HBM3": (66.9, 494.7, 989.4, 989.4),
    "NVIDIA H100 NVL": (60, 417.5, 835.5, 835.5),
    "NVIDIA H100 PCIe": (51.2, 378, 756.5, 756.5),
    "NVIDIA H20": (44, 74, 148, 148),
    "NVIDIA A100-SXM4-40GB": (19.5, 156, 312, 312),
    "NVIDIA A100-SXM4-80GB": (19.5, 156, 312, 312),
    "NVIDIA A100-PCIE-40GB": (19.5, 156, 312, 312),
    "NVIDIA A100 80GB PCIe": (19.5, 156, 312, 312),
    "NVIDIA A40": (37.4, 74.8, 149.7, 149.7),
    "NVIDIA A30": (None, None, 165, 165),
    "NVIDIA A10": (31.2, 62.5, 125, 125),
    "NVIDIA A10G": (35, 35, 70, 70),
    "NVIDIA L40S": (91.6, 183, 362, 362),
    "NVIDIA L40": (90.5, 90.5, 181, 181),
    "NVIDIA L4": (30.3, 60, 121, 121),
    "NVIDIA RTX A6000": (38.7, 77.4, 154.8, 154.8),
    "NVIDIA RTX 6000 Ada Generation": (91.1, 182.1, 364.2, 364.2),
    "NVIDIA GeForce RTX 3090": (35.6, 35.6, 71, 71),
    "NVIDIA GeForce RTX 4090": (82.6, 82.6, 165.2, 165.2),
    "NVIDIA GeForce RTX 5090": (104.8, 104.8, 209.5, 209.5),
    "Tesla V100-SXM2-16GB": (15.7, None, None, 125),
    "Tesla T4": (8.1, None, None, 65),
    "AMD Instinct MI250X": (47.85, None, 191.5, 191.5),
    "AMD Instinct MI300X": (163.4, 653.7, 1307.4, 1307.4),
    "AMD Instinct MI325X": (163.4, 653.7, 1307.4, 1307.4),
    "AMD Instinct MI355X": (157.3, None, 2516.6, 2516.6),
}
"""The figures of the data sheets, for the names that NVML and ROCm print."""

UNKNOWN = (
    "NVIDIA A100-SXM-64GB",  # Leonardo's, with more multiprocessors
    "NVIDIA A100-SXM4-80GB MIG 1g.10gb",
    "NVIDIA A800-SXM4-80GB",
    "NVIDIA H100 80GB HBM3 MIG 3g.40gb",
    "NVIDIA GH200 480GB MIG 1g.12gb",
    "NVIDIA H20-3e",
    "NVIDIA GeForce RTX 3090 Ti",
    "NVIDIA GeForce RTX 4090 D",
    "NVIDIA GeForce RTX 4090 Laptop GPU",
    "AMD Instinct MI250X / MI250",
    "AMD Instinct MI300A",
)
"""Similar names of devices that have other peaks."""


def _rows(empty, name):
    with connections.reader(empty) as connection:
        return fetch(
            connection,
            "SELECT precision, peak_flops_per_s / 1e12 AS tflops, source FROM device_peaks"
            f" WHERE regexp_full_match('{name}', device_pattern)",
        )


@pytest.mark.parametrize("name", TFLOPS)
def test_a_device_has_one_dense_peak_for_each_precision_that_it_computes(empty, name):
    rows = _rows(empty, name)
    known = dict(zip(("fp32", "tf32", "bf16", "fp16"), TFLOPS[name], strict=True))
    found = [(row["precision"], row["tflops"]) for row in rows]
    assert sorted(found) == sorted((precision, tflops) for precision, tflops in known.items() if tflops)
    assert all(row["source"].startswith("https://") for row in rows)


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_device_with_a_similar_name_has_no_peak(empty, name):
    assert _rows(empty, name) == []
