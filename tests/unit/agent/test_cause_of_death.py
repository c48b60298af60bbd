"""Who died first, and of what."""

from __future__ import annotations

import signal

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
