"""A sensor sample: a fixed-width row that the sensor process writes and the agent reads."""

from __future__ import annotations

import numpy as np

HOST = -1
"""`device` of the host's own row."""
ROW = np.dtype(
    [
        ("time_ns", "<i8"),
        ("device", "<i8"),
        ("gpu_util_pct", "<f8"),
        ("memory_used_bytes", "<f8"),
        ("power_w", "<f8"),
        ("energy_j", "<f8"),
        ("temperature_c", "<f8"),
        ("sm_clock_mhz", "<f8"),
        ("throttle_reasons", "<f8"),
        ("cpu_util_pct", "<f8"),
        ("other_cpu_pct", "<f8"),
        ("rss_bytes", "<f8"),
    ]
)
"""NaN if a sensor does not exist. NVML's mask of throttle reasons has fewer than 53 bits, exact in float64."""
