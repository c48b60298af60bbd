"""Answers of HolisticTraceAnalysis about traces, as JSON: the truth for the import of traces.

    python -m venv hta && hta/bin/pip install HolisticTraceAnalysis==0.5.0
    HTA_DISABLE_NS_ROUNDING=1 hta/bin/python benchmarks/hta_answers.py FOLDER > benchmarks/hta_answers.json

It runs in the environment of HolisticTraceAnalysis and needs nothing of ours. Without the variable HTA cuts every
kernel to whole microseconds, which shortens short kernels. Times are in µs, summed over the steps of a trace except the
last, which HTA leaves out.
"""

from __future__ import annotations

import importlib
import json
import logging
import math
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any


def main() -> None:
    logging.disable(logging.CRITICAL)
    analysis = importlib.import_module("hta.trace_analysis").TraceAnalysis
    folder = Path(sys.argv[1])
    answers = {}
    for path in sorted(folder.rglob("*.json.gz")):
        try:
            answers[path.relative_to(folder).as_posix()] = _answer(analysis, path)
        except Exception as error:  # HTA raises any error if it cannot read a trace
            print(f"{path.name}: {type(error).__name__}: {error}", file=sys.stderr)
    told = {
        "program": f"HolisticTraceAnalysis {version('HolisticTraceAnalysis')}",
        "command": "HTA_DISABLE_NS_ROUNDING=1 python benchmarks/hta_answers.py FOLDER",
        "traces": answers,
    }
    print(json.dumps(told, indent=1))


def _answer(analysis: Any, path: Path) -> dict[str, float | None]:
    of_trace = analysis(trace_files={0: str(path)}, trace_dir=str(path.parent))
    times = of_trace.get_temporal_breakdown(visualize=False).to_dict("records")[0]
    overlap = float(of_trace.get_comm_comp_overlap(visualize=False)["comp_comm_overlap_pctg"].iloc[0])
    kinds = of_trace.get_gpu_kernel_breakdown(visualize=False, num_kernels=1)[0].to_dict("records")
    communication = [row for row in kinds if "COMMUNICATION" in row["kernel_type"]]
    return {
        "compute_us": round(float(times["compute_time(us)"]), 3),
        "communication_us": round(sum(float(row["sum"]) for row in communication), 3),
        "exposed_communication_us": round(
            sum(float(row["sum"]) for row in communication if "COMPUTATION" not in row["kernel_type"]), 3
        ),
        "overlap_percent": None if math.isnan(overlap) else overlap,
    }


if __name__ == "__main__":
    main()
