"""The leader of a run decides why it ends, from the messages of its own ranks and its followers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from bench.cluster import leader
from bench.cluster.channel import Channel
from bench.cluster.gather import Follower
from bench.cluster.leader import LeaderControl
from bench.records.messages import AskProgress, End, Fault, Message, Progress, Report, Started
from bench.records.run_spec import MeasureSpec
from bench.session.stop import StopRequest
from tests.unit.agent.test_placement import offer
from tests.unit.cluster.sockets import channels
from tests.unit.session.test_session import run_spec

SHORT_S = 0.2
"""Limit for events that must not come."""
CAUSE = Fault(status="failed", error="killed by SIGKILL", rank=3, node=1)
SECONDHAND = Fault(status="failed", error="Connection closed by peer", rank=0, node=0, secondhand=True)
OWN = Report(fault=None, rank_facts={"parameters": 5}, rows={0: 3, 1: 3}, setup_s=0.5, finalised=True)
THEIRS = Report(fault=None, rank_facts={"parameters": 5}, rows={2: 3, 3: 3}, setup_s=0.6, finalised=True)


class Crowd:
    """A leader's orders, and its followers' ends of real connections, which the test plays."""

    def __init__(self, opened: ExitStack, folder: Path) -> None:
        self.stop = StopRequest()
        self.stop_file = folder / "STOP"
        self.watched: list[tuple[int, list[int]]] = []
        self.far: dict[int, Channel] = {}
        self._near: dict[int, Follower] = {}
        for task in (1, 2):
            near, self.far[task] = opened.enter_context(channels())
            self._near[task] = Follower(offer=offer(task=task, node=task), channel=near)

    def leading(self, timeout_s: float = 60.0) -> LeaderControl:
        return LeaderControl(
            run_spec(nodes=3, world_size=6, measure=MeasureSpec(steps=3, timeout_s=timeout_s)),
            self._near,
            self.stop,
            self.stop_file,
            lambda task, pids: self.watched.append((task, pids)),
        )

    def say(self, task: int, message: Message) -> None:
        self.far[task].send(message)

    def say_soon(self, task: int, message: Message) -> None:
        """Send the message while the leader waits."""
        threading.Timer(0.1, self.say, [task, message]).start()

    def heard(self, task: int) -> list[Message]:
        """All messages to a follower."""
        found = []
        while (message := self.far[task].poll()) is not None:
            found.append(message)
        return found


@pytest.fixture
def crowd(tmp_path: Path) -> Iterator[Crowd]:
    with ExitStack() as opened:
        yield Crowd(opened, tmp_path)


def own_progress() -> Progress:
    return Progress(node=0, rows={0: 5, 1: 5})


def look_until(orders: LeaderControl) -> Fault | None:
    """As an agent does it: look, wait for news, look again."""
    for _ in range(100):
        fault = orders.check(own_progress)
        if fault is not None:
            return fault
        leader.connection.wait(orders.wait_objects(), timeout=0.1)
    return None


def test_while_nothing_is_wrong_there_is_no_fault(crowd: Crowd) -> None:
    orders = crowd.leading()
    crowd.say(1, Started(pids=[11, 12]))
    orders.ranks_started([1, 2])
    for _ in range(3):
        assert orders.check(own_progress) is None
    assert set(map(str, crowd.watched)) == {"(0, [1, 2])", "(1, [11, 12])"}
    assert (crowd.heard(1), crowd.heard(2)) == ([], [])


def test_a_follower_that_says_what_went_wrong_ends_the_run_on_every_other(crowd: Crowd) -> None:
    orders = crowd.leading()
    crowd.say(1, CAUSE)
    assert look_until(orders) == CAUSE
    assert crowd.heard(2) == [End(fault=CAUSE)]


def test_a_lost_connection_waits_for_what_befell_the_other_side(crowd: Crowd) -> None:
    orders = crowd.leading()
    crowd.say_soon(1, CAUSE)
    assert orders.report(SECONDHAND) == CAUSE
    assert crowd.heard(2) == [End(fault=CAUSE)]


def test_of_many_lost_connections_the_one_cause_counts(crowd: Crowd) -> None:
    orders = crowd.leading()
    crowd.say(2, replace(SECONDHAND, rank=5, node=2))
    crowd.say_soon(1, CAUSE)
    assert look_until(orders) == CAUSE


def test_a_lost_connection_without_another_cause_is_the_cause(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader, "_CAUSE_S", SHORT_S)
    assert crowd.leading().report(SECONDHAND) == SECONDHAND
    assert crowd.heard(1) == crowd.heard(2) == [End(fault=SECONDHAND)]


def test_what_went_wrong_first_stays_the_reason(crowd: Crowd) -> None:
    orders = crowd.leading()
    assert orders.report(CAUSE) == CAUSE
    crowd.say(1, replace(CAUSE, error="later"))
    assert look_until(orders) == CAUSE


def test_a_lost_follower_is_told_with_its_task_and_node(crowd: Crowd) -> None:
    orders = crowd.leading()
    crowd.far[1].close()
    fault = look_until(orders)
    assert fault == Fault(
        status="failed",
        error="the agent of task 1 on n2 is gone: the connection was closed",
        rank=None,
        node=1,
    )
    assert orders.lost == {1: fault.error}
    assert crowd.heard(2) == [End(fault=fault)]


def test_a_follower_lost_together_with_its_ranks_is_the_cause(crowd: Crowd) -> None:
    orders = crowd.leading()
    threading.Timer(0.1, crowd.far[1].close).start()
    fault = orders.report(SECONDHAND)
    assert fault.error.startswith("the agent of task 1 on n2 is gone")


def test_what_a_follower_said_before_it_was_lost_is_the_cause(crowd: Crowd) -> None:
    orders = crowd.leading()
    crowd.say(1, CAUSE)
    crowd.far[1].close()
    assert look_until(orders) == CAUSE


def test_a_follower_that_takes_no_message_is_lost(crowd: Crowd) -> None:
    orders = crowd.leading()
    crowd.far[1].close()
    while not orders.lost:
        orders.send(1, AskProgress())
    assert list(orders.lost) == [1]
    assert look_until(orders) is not None


def test_the_stop_file_asks_the_session_to_stop(crowd: Crowd) -> None:
    orders = crowd.leading()
    crowd.stop_file.touch()
    assert orders.check(own_progress) is None
    assert crowd.stop.requested
    assert crowd.stop.reason == "stopped by the file STOP"
    assert crowd.stop.exit_code == 143


def test_a_stop_while_followers_finish_ends_their_ranks(crowd: Crowd) -> None:
    orders = crowd.leading()
    crowd.stop.ask("the file STOP")
    told = Fault(status="interrupted", error="stopped by the file STOP", rank=None, node=None)
    for task in (1, 2):
        crowd.say_soon(task, THEIRS)
    reports = orders.finish(OWN)
    assert reports[0].fault == told
    assert crowd.heard(1) == crowd.heard(2) == [End(fault=told)]


def test_a_run_that_is_overdue_asks_everyone_how_far_they_are(crowd: Crowd) -> None:
    orders = crowd.leading(timeout_s=0)
    crowd.say_soon(1, Progress(node=1, rows={2: 5, 3: 5}, stopped=[3]))
    crowd.say_soon(2, Progress(node=2, rows={4: 5, 5: 5}))
    fault = orders.check(own_progress)
    assert fault is not None
    assert (fault.status, fault.rank, fault.node) == ("timeout", 3, 1)
    assert "rank 0: 5, rank 1: 5, rank 2: 5, rank 3: 5, rank 4: 5, rank 5: 5; " in fault.error
    assert crowd.heard(1) == crowd.heard(2) == [AskProgress(), End(fault=fault)]


def test_a_follower_that_does_not_answer_holds_up_no_timeout(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader, "_ANSWER_S", SHORT_S)
    crowd.say_soon(2, Progress(node=2, rows={4: 5, 5: 3}))
    fault = crowd.leading(timeout_s=0).check(own_progress)
    assert fault is not None
    assert (fault.status, fault.rank, fault.node) == ("timeout", None, None)
    assert (
        "steps completed: rank 0: 5, rank 1: 5, rank 4: 5, rank 5: 3; the agent on n2 does not answer;"
        in (fault.error)
    )


def test_at_the_end_there_is_a_report_of_everyone_the_leaders_first(crowd: Crowd) -> None:
    orders = crowd.leading()
    for task in (2, 1):
        crowd.say_soon(task, THEIRS)
    assert orders.finish(OWN) == [OWN, THEIRS, THEIRS]
    assert orders.lost == {}


@pytest.mark.parametrize(
    ("timeout_s", "report_s"), [(0.0, 20.0), (60.0, 0.0)], ids=["the former", "the latter"]
)
def test_followers_have_time_to_store_their_rows_or_what_is_left_of_the_run_if_that_is_longer(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch, timeout_s: float, report_s: float
) -> None:
    monkeypatch.setattr(leader, "_REPORT_S", report_s)
    orders = crowd.leading(timeout_s)
    crowd.say(1, THEIRS)  # wakes the leader, which looks at the time
    crowd.say_soon(2, THEIRS)
    assert orders.finish(OWN) == [OWN, THEIRS, THEIRS]


def test_a_fault_after_the_leaders_own_ranks_have_ended_is_the_runs(crowd: Crowd) -> None:
    orders = crowd.leading()
    crowd.say(1, CAUSE)
    crowd.say(1, replace(THEIRS, fault=CAUSE))
    crowd.say_soon(2, THEIRS)
    reports = orders.finish(OWN)
    assert [report.fault for report in reports] == [CAUSE, CAUSE, None]
    assert End(fault=CAUSE) in crowd.heard(2)


def test_a_follower_that_does_not_report_in_time_is_lost(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader, "_REPORT_S", SHORT_S)
    orders = crowd.leading()
    orders.report(CAUSE)
    crowd.say(2, THEIRS)
    reports = orders.finish(replace(OWN, fault=CAUSE))
    assert [report.fault for report in reports] == [CAUSE, None]
    assert orders.lost == {1: "the agent of task 1 on n2 is gone: it did not end its ranks within 0.2 s"}


def test_a_follower_lost_after_its_report_costs_the_run_nothing(crowd: Crowd) -> None:
    orders = crowd.leading()
    crowd.say(1, THEIRS)
    crowd.far[1].close()
    crowd.say(2, THEIRS)
    assert orders.finish(OWN) == [OWN, THEIRS, THEIRS]


def test_alone_an_agent_only_has_its_own_ranks(tmp_path: Path) -> None:
    alone = LeaderControl(run_spec(), {}, StopRequest(), tmp_path / "STOP", lambda _task, _pids: None)
    assert alone.wait_objects() == []
    assert alone.check(own_progress) is None
    assert alone.report(SECONDHAND) == SECONDHAND
    assert alone.finish(OWN) == [OWN]
