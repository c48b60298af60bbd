"""ci/network: two nodes on this machine with a link of known bandwidth between them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.e2e.faulty_sessions import outcome
from tests.e2e.processes import BENCH, Marked

ROOT = Path(__file__).parents[2]
NETWORK = str(ROOT / "ci/network")
BITS_PER_GBYTE = 8e3
"""Mbit in 10^9 bytes."""
LARGEST_BYTES = 4_194_304


@pytest.fixture
def marked(tmp_path: Path) -> Marked:
    return Marked(tmp_path)


@pytest.fixture
def link() -> None:
    """Skips the test, with the script's reason, if no link can be made here."""
    tried = subprocess.run(
        [NETWORK, "--mbit", "100", "--", "true"], text=True, capture_output=True, check=False
    )
    if tried.returncode == 2:
        pytest.skip(tried.stderr.strip())
    assert tried.returncode == 0, tried.stderr


@pytest.mark.usefixtures("link")
def test_ranks_of_both_nodes_have_at_most_the_bandwidth_that_was_set(tmp_path: Path, marked: Marked) -> None:
    """How near it comes depends on how busy the machine is."""
    mbit = 100
    sizes = f"{{ops: [all_reduce], smallest_bytes: {LARGEST_BYTES}, largest_bytes: {LARGEST_BYTES}}}"
    words = ["suite", "collectives", "--quick", "--case", "across_nodes", "--world", "2x1", "--repeats", "1"]
    words += ["--set", f"workload={sizes}", "--session", "s", "--results", str(tmp_path / "r"), "--no-load"]
    done = subprocess.run(
        [NETWORK, "--mbit", str(mbit), "--", *BENCH, *words],
        env=marked.environment, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert outcome(tmp_path / "r", "s", "across_nodes.2x1.r0")["status"] == "ok"
    (file,) = (tmp_path / "r/s/across_nodes.2x1.r0").glob("collectives.node0.parquet")
    speeds = [row["bus_gbps"] * BITS_PER_GBYTE for row in pq.read_table(file).to_pylist()]
    assert len(speeds) == 8
    assert 0 < max(speeds) < 1.1 * mbit
    assert marked.left() == []


@pytest.mark.usefixtures("link")
def test_the_first_nodes_exit_code_is_returned(marked: Marked) -> None:
    command = 'exit "$((3 + BENCH_TASK))"'
    done = subprocess.run(
        [NETWORK, "--mbit", "1000", "--", "sh", "-c", command], env=marked.environment, check=False
    )
    assert done.returncode == 3
    assert marked.left() == []


@pytest.mark.usefixtures("link")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_request_to_end_leaves_no_process_and_no_namespace(how: signal.Signals, marked: Marked) -> None:
    """Neither the command, nor a process that it has left behind, nor the one that keeps a node's namespace."""
    process = subprocess.Popen(
        [NETWORK, "--mbit", "100", "--", "sh", "-c", "setsid sleep 600 & exec sleep 600"],
        env=marked.environment, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    # as long as others have the words among theirs, they may ignore the signal
    while sum(one.endswith(": sleep 600 ") for one in marked._marked()) < 4 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, how)
    assert process.wait(60) == 128 + how
    assert marked.left() == []


def test_without_the_right_to_make_a_network_the_reason_is_said() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give rights away")
    as_user = ["setpriv", "--reuid", "65534", "--clear-groups"]
    powerless = ["setpriv", "--bounding-set", "-sys_admin,-net_admin", "--inh-caps", "-all"]
    for prefix, reason in (
        (as_user, "call it as root"),
        (powerless, "no network namespace can be made here"),
    ):
        done = subprocess.run(
            [*prefix, "bash", NETWORK, "--mbit", "100", "--", "true"],
            text=True, capture_output=True, check=False, cwd="/",
        )  # fmt: skip
        assert done.returncode == 2
        assert reason in done.stderr


@pytest.mark.parametrize("words", [[], ["--mbit", "100"], ["--mbit", "fast", "--", "true"]])
def test_a_wrong_call_says_how_it_is_used(words: list[str]) -> None:
    done = subprocess.run([NETWORK, *words], text=True, capture_output=True, check=False)
    assert done.returncode == 2
    assert "usage: ci/network --mbit RATE -- COMMAND [ARGUMENT]..." in done.stderr
