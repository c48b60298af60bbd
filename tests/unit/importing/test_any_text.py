"""Any file gives sound rows or one clear error, never a traceback."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bench.common.errors import InputError
from bench.importing.formats.collectives import CollectiveRun
from bench.importing.formats.csv_file import COLUMNS, REQUIRED
from bench.importing.import_session import ImportRequest, read_files
from bench.importing.measurement import Measurement

CELLS = st.one_of(
    st.sampled_from(
        ["", "-", "ddp", "strong", "weak", "none", "1", "4", "8", "1,234.5", "1e3", "1e400", "nan", "0:01:35", "95 s",
         "95.23", "0.95", "95%", '"', "|", "--", "Time (s)", "GPUs", "Total training time: 95 s", "GPUs: 4", "\u0660"]
    ),
    st.integers(-(2**70), 2**70).map(str),
    st.floats().map(str),
    st.text(max_size=12),
)  # fmt: skip
GAPS = st.sampled_from([",", ";", "\t", "  ", " ", "|", "\n"])
HEADERS = st.one_of(
    st.just(",".join(REQUIRED)),
    st.lists(st.sampled_from(COLUMNS), max_size=14).map(",".join),
    st.lists(st.sampled_from(["GPUs", "Nodes", "Time (s)", "Time/Epoch (s)", "Val Acc", "Job ID", "x"])).map(
        "  ".join
    ),
    st.just(""),
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A header of some kind, then cells with something between them."""
    body = draw(st.lists(st.tuples(CELLS, GAPS), max_size=40))
    return draw(HEADERS) + "\n" + "".join(cell + gap for cell, gap in body)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.one_of(texts().map(str.encode), st.binary(max_size=200)),
    st.sampled_from(["auto", "csv", "table", "log", "nccl"]),
)
@example(("GPUs  Time (s)\n" + "9" * 5_000 + "  1\n").encode(), "auto")
@example(("case,scaling,world_size,repeat,seconds,examples\n" + "x" * 200_000).encode(), "csv")
@example(b"Total training time: " + b"9" * 5_000, "log")
@example(b'{"config": {}, "results": [1]}', "nccl")
@example(b"# size count type time algbw busbw \n(us)\n 1 1 f", "nccl")
@example(b"run time " * 20 + b"x\n" + b"gpus " * 5_000, "table")
def test_any_file_is_read_whole_or_refused_with_a_reason(content: bytes, kind: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.txt"
        path.write_bytes(content)
        rows, reason = read_or_refuse(path, kind)
        assert reason.startswith(("file.txt: ", f"{path}: ")) or not reason
        assert len(reason.splitlines()) <= 23
    for row in rows:
        assert row.seconds is None or 0 < row.seconds < math.inf
        assert row.world_size >= 1
        assert row.world_size % row.nodes == 0
        assert isinstance(row, CollectiveRun) or row.examples is None or row.examples >= 1


def read_or_refuse(path: Path, kind: str) -> tuple[tuple[Measurement | CollectiveRun, ...], str]:
    try:
        return read_files(ImportRequest(files=(str(path),), suite="demo", kind=kind)).rows, ""
    except InputError as error:
        return (), str(error)


@given(
    st.lists(
        st.tuples(
            st.integers(1, 64),
            st.decimals("0.001", "1000000", places=3, allow_nan=False, allow_infinity=False),
            st.integers(1, 10**9),
        ),
        min_size=1,
        max_size=20,
    )
)
@settings(deadline=None)
def test_what_is_written_down_comes_back_as_it_was(rows: list[tuple[int, object, int]]) -> None:
    lines = [
        f"case,none,{world},{number},{seconds},{examples}"
        for number, (world, seconds, examples) in enumerate(rows)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.csv"
        path.write_text("\n".join([",".join(REQUIRED), *lines]))
        found = read_files(ImportRequest(files=(str(path),), suite="demo")).rows
    assert [(one.world_size, one.seconds, one.examples) for one in found] == [
        (world, float(str(seconds)), examples) for world, seconds, examples in rows
    ]
