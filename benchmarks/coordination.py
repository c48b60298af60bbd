"""Measure the cost of coordinating 8 to 1,024 agents of a step: a real leader, and followers without ranks.

    python benchmarks/coordination.py [--agents 8 64 512 1024]

The leader's own code gathers N-1 followers over TCP on loopback, orders each to host a run of 8 ranks, and waits for
their reports. It then watches as it does during a run, until one follower dies. A barrier is an order to all agents
and a report from each. `leader` columns are the processor time of the leader's process alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path
from typing import Any, cast

from simulated_agents import IDLE, RANKS, Followers, NoRanks, following, run_spec, step

from bench.agent.ranks import RunControl
from bench.agent.run import Agent
from bench.cluster.agents import Agents
from bench.cluster.gather import Gathered, Gathering
from bench.machine.fingerprint import fingerprint
from bench.records.messages import Begin, Fault
from bench.records.run_spec import RunSpec
from bench.session.stop import StopRequest

_BARRIERS = 20
_IDLE_S = 5.0
_SETTLED_S = 1.0
"""Time for all followers to confirm that they have begun."""
_TICK_S = 0.1
"""The same as in bench/agent/ranks.py."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The results for one number of agents."""

    agents: int
    connect_s: float
    """From the signal to all followers until all have joined."""
    ready_s: float
    barrier_s: float
    """Median time of a barrier: an order to all, and a report from each."""
    barrier_longest_s: float
    barrier_leader_s: float
    """The leader's processor time for one barrier."""
    idle_leader_share: float
    """The leader's processor time while a run runs, per second."""
    noticed_s: float
    """From an agent's death, which closes its connection, until the leader notices."""
    ended_s: float
    """From then until every other agent has ended the run and reported it."""
    facts_bytes: int
    """Size of the nodes' facts in session.json."""
    fingerprint_bytes: int
    """Size of the fingerprint in run.json."""
    in_order: bool
    """Whether every agent was told of every run once, in order."""


def measured(agents: int, results: Path, barriers: int = _BARRIERS, idle_s: float = _IDLE_S) -> Measured:
    with following(agents, results) as followers:
        with Gathering(step(agents), results, RANKS) as gathering:
            began_s = time.monotonic()
            followers.go()
            gathered = gathering.wait()
            connect_s = time.monotonic() - began_s
            found = _of_a_session(gathered, followers, results, barriers, idle_s)
        heard = followers.heard()
    runs = [f"run{number}" for number in range(barriers)] + [IDLE]
    return Measured(
        agents=agents,
        connect_s=connect_s,
        in_order=sorted(heard) == list(range(1, agents)) and all(told == runs for told in heard.values()),
        **found,
    )


def _of_a_session(
    gathered: Gathered, followers: Followers, results: Path, barriers: int, idle_s: float
) -> dict[str, Any]:
    agents = len(gathered.offers)
    host = _Leader(followers, idle_s)
    session_agents = Agents(gathered, cast(Agent, host), StopRequest(), results / "STOP")
    began_s = time.monotonic()
    gathered.announce_begin(Begin(loads_torch=True, uses_gpus=False))
    session_agents.await_ready()
    ready_s = time.monotonic() - began_s
    assert not session_agents.lost, session_agents.lost
    seconds = [
        _barrier(session_agents, run_spec(agents, f"run{number}"), results) for number in range(barriers)
    ]
    session_agents.run(run_spec(agents, IDLE), results, _nobody)
    ended_s = time.monotonic() - host.noticed_at_s
    everyone = list(gathered.facts.values())
    return {
        "ready_s": ready_s,
        "barrier_s": statistics.median(wall_s for wall_s, _ in seconds),
        "barrier_longest_s": max(wall_s for wall_s, _ in seconds),
        "barrier_leader_s": statistics.median(processor_s for _, processor_s in seconds),
        "idle_leader_share": host.idle_processor_s / idle_s,
        "noticed_s": host.noticed_at_s - host.died_at_s,
        "ended_s": ended_s,
        "facts_bytes": len(json.dumps(gathered.facts)),
        "fingerprint_bytes": len(json.dumps(fingerprint(run_spec(agents, IDLE), everyone, {}))),
    }


def _barrier(session_agents: Agents, spec: RunSpec, results: Path) -> tuple[float, float]:
    """Wall-clock time and the leader's processor time of one run, with the check that agents can host it."""
    began_s, processor_s = time.monotonic(), time.process_time()
    assert session_agents.cannot_run(spec) is None
    nodes, reports = session_agents.nodes(spec), session_agents.run(spec, results, _nobody)
    assert len(nodes) == len(reports) == spec.nodes
    return time.monotonic() - began_s, time.process_time() - processor_s


class _Leader(NoRanks):
    """The leader's own ranks: in the run called `idle` they run until a follower has died."""

    def __init__(self, followers: Followers, idle_s: float) -> None:
        super().__init__(0)
        self._followers, self._for_s = followers, idle_s
        self.idle_processor_s = self.died_at_s = self.noticed_at_s = 0.0

    def idle(self, control: RunControl) -> Fault | None:
        self._look_on(control, _SETTLED_S)
        processor_s = time.process_time()
        self._look_on(control, self._for_s)
        self.idle_processor_s = time.process_time() - processor_s
        self.died_at_s = time.monotonic()
        self._followers.lose(1)
        fault = super().idle(control)
        self.noticed_at_s = time.monotonic()
        return fault

    def _look_on(self, control: RunControl, for_s: float) -> None:
        """Watch for `for_s` seconds, as an agent watches its ranks."""
        until_s = time.monotonic() + for_s
        while time.monotonic() < until_s:
            connection.wait(control.wait_objects(), timeout=_TICK_S)
            fault = self.check(control)
            assert fault is None, fault


def _nobody(*news: object) -> None:
    """Discard progress."""


def _row(found: Measured) -> str:
    return (
        f"| {found.agents:,} | {found.connect_s:.2f} s | {found.ready_s * 1e3:.0f} ms | {found.barrier_s:.2f} s "
        f"({found.barrier_longest_s:.2f}) | {found.barrier_leader_s * 1e3:.0f} ms | "
        f"{found.idle_leader_share:.2%} | {found.noticed_s * 1e3:.0f} ms | {found.ended_s * 1e3:.0f} ms | "
        f"{found.facts_bytes / 1e3:.0f} kB | {found.fingerprint_bytes / 1e3:.1f} kB |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agents", type=int, nargs="+", default=[8, 64, 512, 1024])
    names = [
        "agents", "all connected", "all ready", "barrier (longest)", "leader's processor time, a barrier",
        "leader, while a run runs", "a death noticed", "then all others ended", "session.json, facts",
        "run.json, nodes",
    ]  # fmt: skip
    wanted = parser.parse_args().agents
    print("| " + " | ".join(names) + " |\n" + "| --- " * len(names) + "|")
    for agents in wanted:
        with tempfile.TemporaryDirectory() as results:
            found = measured(agents, Path(results))
        assert found.in_order
        print(_row(found), flush=True)


if __name__ == "__main__":
    main()
