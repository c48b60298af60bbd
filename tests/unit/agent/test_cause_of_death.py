"""Who died first, and of what."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from bench.agent.cause_of_death import Death, first_to_die, kernel_oom_kills


def died(exit_code: int, error: str | None = None, oom: bool = False) -> Death:
    return Death(exit_code=exit_code, outcome={} if error is None else {"error": error, "oom": oom})


def test_the_killed_rank_is_to_blame_not_the_peer_that_lost_its_connection() -> None:
    failed = {
        0: died(1, "RuntimeError: Connection closed by peer [127.0.0.1]:40001"),
        1: died(-signal.SIGKILL),
    }
    fault = first_to_die(failed, 0, kernel_oom_kills())
    assert (fault.rank, fault.status, fault.error) == (1, "failed", "killed by SIGKILL")


def test_the_rank_that_raised_is_to_blame_not_the_peer_that_lost_its_connection() -> None:
    failed = {0: died(1, "RuntimeError: Connection reset by peer"), 2: died(1, "ValueError: shapes differ")}
    fault = first_to_die(failed, 1, kernel_oom_kills())
    assert (fault.rank, fault.node, fault.error) == (2, 1, "ValueError: shapes differ")


def test_a_peer_that_nccl_lost_is_not_to_blame() -> None:
    lost = "NCCL error in: NCCLUtils.cpp:140, remote process exited or there was a network error, NCCL version 2.28.9"
    fault = first_to_die({0: died(1, f"DistBackendError: {lost}"), 2: died(1, "ValueError: no")}, 0, None)
    assert (fault.rank, fault.secondhand) == (2, False)


WATCHDOG = """\
step 3
[rank1]:[E1125 11:18:12.4 ProcessGroupNCCL.cpp:689] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(1)
terminate called after throwing an instance of 'c10::DistBackendError'
  what():  [PG ID 0 Rank 1] Process group watchdog thread terminated with exception: ran for 600000 milliseconds
Exception raised from checkTimeout at ProcessGroupNCCL.cpp:722 (most recent call first):
frame #0: c10::Error::Error + 0x9d (0x7f in libc10.so)

Fatal Python error: Aborted

Thread 0x00007f (most recent call first):
  File "loop.py", line 3 in step
"""
STUCK = """\
[rank0]:[E1125 11:18:12.3 WorkNCCL.cpp:372] [TC][rank=0] Operation timed out
[rank0]:[F1125 11:18:12.4 ProcessGroupNCCL.cpp:1557] [PG ID 0 Rank 0] watchdog got stuck for 480 seconds
it would help to
Fatal Python error: Aborted
"""


@pytest.mark.parametrize(
    ("log", "error"),
    [
        (WATCHDOG, "its log says: [PG ID 0 Rank 1] Process group watchdog thread terminated with exception: ran for "),
        (STUCK, "its log says: [TC][rank=0] Operation timed out; [PG ID 0 Rank 0] watchdog got stuck for 480 seconds"),
        ("step 3\nfree(): invalid \x1bpointer\nFatal Python error: Aborted\n", "says: free(): invalid \\x1bpointer"),
        ("\n", "killed by SIGABRT"),
    ],
    ids=["watchdog", "heartbeat", "libc", "silent"],
)  # fmt: skip
def test_an_abort_has_the_words_of_its_log(tmp_path: Path, log: str, error: str) -> None:
    (tmp_path / "log").write_text(log)
    death = Death(exit_code=-signal.SIGABRT, outcome={}, log=tmp_path / "log")
    fault = first_to_die({0: death}, 0, kernel_oom_kills())
    assert fault.error.startswith("killed by SIGABRT")
    assert error in fault.error
    assert ("its log says" in fault.error) is bool(log.strip())


def test_a_sigkill_while_the_kernel_ran_out_of_memory_is_out_of_memory() -> None:
    fault = first_to_die({0: died(-signal.SIGKILL)}, 0, kernel_kills_before=-1)
    assert fault.status == "oom"


def test_a_rank_that_leaves_early_with_exit_code_0_has_failed() -> None:
    fault = first_to_die({0: died(0)}, 0, kernel_oom_kills())
    assert fault.status == "failed"
    assert "exit code 0 before the run was over" in fault.error


def test_a_crash_at_a_memory_limit_is_out_of_memory_and_a_kill_is_not() -> None:
    crash = Death(exit_code=-signal.SIGSEGV, outcome={}, limited=True)
    fault = first_to_die({0: crash}, 0, kernel_oom_kills())
    assert fault.status == "oom"
    assert fault.error == "killed by SIGSEGV at its memory limit: a library used memory that it was refused"
    assert first_to_die({0: died(-signal.SIGSEGV)}, 0, kernel_oom_kills()).status == "failed"
    killed = Death(exit_code=-signal.SIGTERM, outcome={}, limited=True)
    assert first_to_die({0: killed}, 0, kernel_oom_kills()).status == "failed"
