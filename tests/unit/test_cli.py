"""The command line around its commands: names, exit codes, and a reader that closes the pipe."""

from __future__ import annotations

import errno
import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import bench.cli
from bench.cli._options import Finite
from bench.common.errors import InputError
from bench.records.session_head import PlanEntry


def run_bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_help_lists_a_command_for_every_file_in_the_order_of_use() -> None:
    lines = run_bench("--help").stdout.split("Run:")[1].splitlines()
    listed = [line.split()[0] for line in lines if line.startswith("  ")]
    assert listed == bench.cli.group.list_commands(click.Context(bench.cli.group))
    assert [line for line in lines if line.endswith(":")] == ["Read:", "Share:", "Set up:"]


def test_help_shows_the_first_line_of_each_command_and_imports_none() -> None:
    shown = run_bench("--help").stdout
    for path in Path(bench.cli.__file__).parent.glob("[!_]*.py"):
        name, _, purpose = path.read_text().splitlines()[0].strip('"').partition(": ")
        assert name == f"bench {path.stem.replace('_', '-')}"
        assert re.search(rf"^  {name.removeprefix('bench ')} +{re.escape(purpose)}$", shown, re.MULTILINE)
        assert re.fullmatch(r"[A-Z].+\.", purpose)
    imported = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "bench", "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    assert re.findall(r"bench\.cli\.[a-z]\w*", imported) == []


def test_an_unknown_command_gets_the_nearest_name_and_exit_2() -> None:
    result = run_bench("docter")
    assert result.returncode == 2
    assert result.stderr.endswith(
        "bench: no such command 'docter'; did you mean doctor? `bench --help` shows what it takes.\n"
    )


def test_a_dry_run_with_json_is_the_plan_as_a_session_has_it(tmp_path: Path) -> None:
    result = run_bench("suite", "smoke", "--dry-run", "--json", "--results", str(tmp_path))
    assert result.returncode == 0, result.stderr
    answer = json.loads(result.stdout)
    assert {tuple(run) for run in answer["plan"]} == {tuple(PlanEntry.names())}
    assert answer["plan"][0]["case_name"] == "single"
    assert answer["estimate"]["runs"] == sum(run["skip_reason"] is None for run in answer["plan"])
    assert list(tmp_path.iterdir()) == []


def main_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> object:
    """Exit code of `bench` whose command raises `error`."""

    @click.command()
    def raising() -> None:
        raise error

    monkeypatch.setattr(bench.cli.group, "get_command", lambda ctx, name: raising)
    monkeypatch.setattr(sys, "argv", ["bench", "raising"])
    return bench.cli.run_command()


def test_a_folder_that_may_not_be_written_is_one_line_with_its_path(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = OSError(errno.EROFS, "Read-only file system", "public/index.html")
    assert main_with(error, monkeypatch) == 2
    said = "error: public/index.html: Read-only file system: check the path, its permissions and the free space\n"
    assert capsys.readouterr().err == said


def test_what_a_terminal_would_obey_in_an_error_is_printed_as_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main_with(InputError("there are \x1b[2Ja\x07,\n  b"), monkeypatch) == 2
    assert capsys.readouterr().err == "error: there are \\x1b[2Ja\\x07,\n  b\n"


def test_a_defect_of_ours_is_shown_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="not for users"):
        main_with(ValueError("not for users"), monkeypatch)


def test_an_interrupt_exits_with_130_and_still_does_what_was_left_for_the_end() -> None:
    # in a separate process, which it ends at once
    program = """
import atexit, os, click, bench.cli
atexit.register(os.write, 1, b"put away")
@click.command()
def interrupted():
    raise KeyboardInterrupt
bench.cli.group.get_command = lambda ctx, name: interrupted
bench.cli.main()
"""
    command = [sys.executable, "-c", program, "interrupted"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (130, "put away", "\nbench: stopped\n")


def test_a_reader_that_closes_the_pipe_gets_no_traceback() -> None:
    command = f"{sys.executable} -m bench --help | true"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert result.stderr == ""


def test_output_that_cannot_be_written_is_an_error() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "bench", "list"]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    said = "error: No space left on device: check where the output goes, its permissions and the free space\n"
    assert (result.returncode, result.stderr) == (2, said)


@pytest.mark.parametrize(("tag", "said"), [(" ", "--tag is empty"), ("x" * 65, "has 65 characters")])
def test_a_tag_that_no_list_could_show_is_refused(tag: str, said: str) -> None:
    result = run_bench("suite", "smoke", "--dry-run", "--tag", tag)
    assert result.returncode == 2
    assert said in result.stderr


@pytest.mark.parametrize("said", ["nan", "inf"])
def test_numbers_on_the_command_line_are_finite(said: str) -> None:
    with pytest.raises(click.BadParameter, match="not a finite number"):
        Finite(min=0).convert(said, None, None)


@pytest.mark.parametrize(
    ("option", "value"), [("--tflops", "1e-320"), ("--bus-gbps", "1e-320"), ("--latency-us", "1e300")]
)
def test_a_machine_of_which_figures_would_be_infinite_is_refused(option: str, value: str) -> None:
    result = run_bench("predict", "smoke", option, value)
    assert (result.returncode, f"invalid value for '{option}'" in result.stderr) == (2, True), result.stderr
