"""test_nvml_errors.py runs this program under the stand-in driver: lets each entry point of NVML fail in each way, and
prints as a line of JSON what each reader of NVML in bench answers.

    python tests/gpu/read_nvml.py
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from bench.common.errors import InputError
from bench.doctor import gather_nvidia
from bench.machine import environment, slots
from bench.measure.sensors import nvml

KINDS = {
    "uninitialized": 1, "not_supported": 3, "no_permission": 4, "not_found": 6, "driver_not_loaded": 9, "timeout": 10,
    "function_not_found": 13, "corrupted_inforom": 14, "lost": 15, "reset_required": 16, "library_mismatch": 18,
    "no_memory": 20, "unknown": 999,
}  # fmt: skip
"""NVML's errors by name, from nvml.h."""
OF_THE_HOST = ("init", "driver", "cuda", "count")
OF_A_GPU = (
    "handle", "uuid", "name", "mig_mode", "memory_used", "busy", "power", "power_limit", "energy", "temperature",
    "clock", "clock_reasons",
)  # fmt: skip


def answers() -> dict[str, Any]:
    """Facts of the GPUs, as each part of bench reads them."""
    doctor = gather_nvidia.gather_nvidia()
    return {
        "slots": slots.detect().cuda_devices_per_node,
        "facts": environment._gpus(),
        "doctor": {"error": doctor.nvml_error, "gpus": [[gpu.name, gpu.problem] for gpu in doctor.gpus]},
        "sensors": {sensor.device: sensor.read() for sensor in nvml.gpu_sensors()},
    }


def main() -> None:
    file = Path(os.environ["STANDIN_NVML"])
    whole = file.read_text()
    print(json.dumps({"entry": None, "kind": None} | answers()))  # noqa: T201
    for entry in [*OF_THE_HOST, *(f"gpu1.{reading}" for reading in OF_A_GPU)]:
        for kind, number in KINDS.items():
            file.write_text(f"{entry} !{number}\n{whole}")
            try:
                found = answers()
            except InputError as error:
                found = {"refused": str(error)}
            print(json.dumps({"entry": entry, "kind": kind} | found))  # noqa: T201


if __name__ == "__main__":
    main()
