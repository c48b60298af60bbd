"""Any file of timings gives a whole session, or one error that names the file and writes nothing."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.common.errors import InputError
from bench.importing.import_session import ImportRequest, import_session
from tests.fuzz.limits import ends
from tests.fuzz.mutation import ODD_TEXTS, mangled, mutated

EXAMPLES = Path(__file__).parents[2] / "docs/examples"
NAMES = ("timings.csv", "published_table.txt", "job_1gpu.out", "job_4gpu.out", "nccl_all_reduce.txt")
TEXTS = {name: (EXAMPLES / name).read_text() for name in NAMES}
NCCL = {
    "version": 2, "args": ["all_reduce_perf"], "env": ["A=1"], "nccl_version": 22703,
    "config": {"nthreads": 1, "ngpus": 1, "devices": [
        {"rank": rank, "group": 0, "hostname": "n1", "device_info": f"[0x{rank}] NVIDIA H100"} for rank in range(2)
    ]},
    "results": [
        {"size": 1024, "type": "float", "redop": "sum", "root": -1,
         "out_of_place": {"time": 29.1, "alg_bw": 0.03, "bus_bw": 0.035, "nwrong": 0}},
    ],
}  # fmt: skip
SNIPPETS = (
    *ODD_TEXTS, ",,,,,,,,,,", "|||||||", "a,strong,1,0,1e400,1", "1 2 3 4 5 6 7 8 9", "-" * 80, '"',
    "Total training time: 1 s",
    "World size: 0", "GPUs: 1000000000", "1  " * 3_000, "|1" + " " * 20_000 + "z|",
    "# size count type time algbw busbw",
    " 1 1 f" + " " * 20_000 + "x", "GPUs  Time (s)", "| GPUs | Time (s) |",
    "case,scaling,world_size,repeat,seconds,examples",
    "#  Rank  0 Group  0 Pid  1 on n1 device  0 [0x1] H100", "1,2", "\x0c", "\x85", "١", "0x10", "1_000",
    "1e-400 s",
)  # fmt: skip
KINDS = st.sampled_from(["auto", "auto", "csv", "table", "log", "nccl"])
FILE_NAMES = st.sampled_from(
    [
        "t.csv",
        "run_4gpu.log",
        "all_reduce.txt",
        "t.json",
        "slurm-" + "9" * 40 + ".out",
        "x-0gpu",
        "ü\udcff.csv",
    ]
)


def take_in(content: bytes, name: str, kind: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file, results = Path(folder) / name, Path(folder) / "results"
        file.write_bytes(content)
        wishes: dict[str, Any] = dict.fromkeys(("case", "strategy", "workload", "examples", "title"))
        request = ImportRequest(
            files=(str(file),),
            suite="s",
            results=str(results),
            session="S",
            tags=(),
            kind=kind,
            **wishes,
        )
        made, refusal = None, ""
        try:
            with ends():
                made = import_session(request)
        except InputError as error:
            refusal = str(error)
        if made is None:
            assert name in refusal
            assert len(refusal) < 50_000
            assert not results.exists() or not list(results.iterdir())
        else:
            assert [path.name for path in results.iterdir()] == ["S"]
            for path in made.glob("**/*.json"):
                json.loads(path.read_text(encoding="utf-8"))
        assert {path.name for path in Path(folder).iterdir()} <= {name, "results"}


@settings(max_examples=80)
@given(st.sampled_from(NAMES).flatmap(lambda name: mangled(TEXTS[name], SNIPPETS)), FILE_NAMES, KINDS)
def test_an_example_with_odd_lines_is_taken_in_or_refused(text: str, name: str, kind: str) -> None:
    take_in(text.encode("utf-8", "surrogatepass"), name, kind)


@settings(max_examples=80)
@given(mutated(NCCL), FILE_NAMES)
def test_json_of_nccl_tests_with_odd_values_is_taken_in_or_refused(tree: Any, name: str) -> None:
    take_in(json.dumps(tree).encode(), name, "auto")


@settings(max_examples=40)
@given(st.sampled_from(NAMES), st.integers(0, 2_000), st.binary(min_size=1, max_size=8), FILE_NAMES, KINDS)
def test_an_example_with_odd_bytes_is_taken_in_or_refused(
    example: str, place: int, put: bytes, name: str, kind: str
) -> None:
    content = TEXTS[example].encode()
    take_in(content[:place] + put + content[place + len(put) :], name, kind)
