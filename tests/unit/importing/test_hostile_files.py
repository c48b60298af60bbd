"""Files that cost time or memory on purpose, or are no regular files: an error names the file at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.common.errors import InputError
from bench.common.files import read_json, write_json
from bench.importing.import_session import ImportRequest, read_files
from tests.unit.importing.conftest import Refusal

NCCL_HEAD = """\
# all_reduce_perf
#  Rank  0 Group  0 Pid  1 on n1 device  0 [0x1] H100
#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong
#   (B)  (elements)                 (us)  (GB/s)  (GB/s)
"""


def test_a_row_of_nccl_tests_with_very_many_spaces_is_refused(refusal: Refusal) -> None:
    said = refusal(
        NCCL_HEAD + " 1 1 f" + " " * 200_000 + "x\n# Out of bounds values : 0 OK\n", "all_reduce.txt"
    )
    assert "line 5: 200,007 characters: a row has 10,000 at most" in said


def test_a_configuration_with_very_many_spaces_is_refused(refusal: Refusal) -> None:
    text = "| GPUs | Time (s) | Config |\n| 1 | 2 | 1" + " " * 200_000 + "z |\n"
    assert "column Config: has 200,002 characters: 200 at most" in refusal(text, "t.txt")


@pytest.mark.parametrize("line", ["|" * 2**21, "a  " * 2**20, "," * 2**21])
def test_a_very_long_line_is_none_of_headings(refusal: Refusal, line: str) -> None:
    assert refusal(line, "t.txt").startswith("t.txt: neither a CSV")


def test_what_is_no_log_may_be_8_mib(refusal: Refusal) -> None:
    text = "case,scaling,world_size,repeat,seconds,examples\n" + "a" * 2**23
    assert refusal(text, kind="csv") == "t.csv: larger than 8 MiB: only logs may be; import parts of it"


def test_very_many_lines_are_refused(refusal: Refusal) -> None:
    assert (
        refusal("x" + "\n" * 2_000_001)
        == "t.csv: 2,000,001 lines are too many: import at most 2,000,000 at a time"
    )


def test_of_very_many_problems_twenty_are_kept_and_all_counted(refusal: Refusal) -> None:
    text = "case,scaling,world_size,repeat,seconds,examples\n" + "a,\n" * 3_000
    lines = refusal(text).splitlines()
    assert lines[0] == "t.csv: 3,000 problems, nothing was imported:"
    assert lines[-1] == "  and 2,980 more"
    assert len(lines) == 22


def test_a_pipe_and_a_device_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InputError, match=f"{path}: a pipe or a device, not a file"):
            read_files(ImportRequest(files=(str(path),), suite="demo"))


def test_what_is_no_pattern_names_no_file() -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_files(ImportRequest(files=("a**b.csv",), suite="demo"))


def test_bytes_of_the_command_line_that_are_no_text_become_a_question_mark(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"tag": os.fsdecode(b"a\xffb")})
    assert read_json(tmp_path / "a.json") == {"tag": "a?b"}


def test_a_file_whose_name_is_no_text_is_taken_in(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/t\xff.csv"
    Path(os.fsdecode(name)).write_text("case,scaling,world_size,repeat,seconds,examples\na,strong,1,0,2,3\n")
    command = [sys.executable, "-m", "bench", "import", name, "--suite", "s", "--session", "S", "--no-load"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert read_json(tmp_path / "results/S/session.json")["imported"]["files"][0]["name"] == "t?.csv"
