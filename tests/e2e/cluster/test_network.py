"""Strangers in the cluster's network change no result, learn no secret, and find no socket that is open to all."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest

from tests.e2e.cluster.nodes import Nodes, until
from tests.e2e.cluster.studies import Step, Study, held_case, in_the_middle_of

CASES = [held_case("held"), held_case("short", "2x1"), held_case("next", "2x2"), held_case("last", "2x4")]
RAW_ATTEMPTS = 2
"""Number of the stranger's attempts at each place that do not wait for an answer."""
ADDRESSES = {"n1": "10.77.0.1", "n2": "10.77.0.2"}
THE_OTHER_TASK_COMES_LATE = '[ "$SLURM_PROCID" = 0 ] || until [ -e come ]; do sleep 0.1; done'


class Stranger:
    """stranger.py on the login node."""

    def __init__(self, cluster: Any, log: Path) -> None:
        self._log = log
        self._told: set[tuple[str, int]] = set()
        command = f"nsenter --net --target {cluster.first_process()} setpriv --pdeathsig KILL".split()
        program = [sys.executable, str(Path(__file__).with_name("stranger.py"))]
        with log.open("w") as output:
            self._process = subprocess.Popen(
                command + program, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.DEVNULL, text=True
            )
        until(lambda: "ready" in self.said, "ready")

    @property
    def said(self) -> str:
        return self._log.read_text()

    def tell(self, places: Iterable[tuple[str, int]]) -> None:
        """Make the stranger visit each place once."""
        assert self._process.stdin is not None
        for address, port in sorted(set(places) - self._told):
            self._process.stdin.write(f"{address} {port}\n")
            self._process.stdin.flush()
            self._told.add((address, port))

    def visit(self, places: Collection[tuple[str, int]]) -> None:
        """Do the same, and wait until the stranger has finished its raw attempts on every listener."""
        self.tell(places)
        lines = [f"\n{address} {port} " for address, port in places]
        until(lambda: all(self.said.count(line) >= RAW_ATTEMPTS for line in lines), "visited")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture(scope="module")
def study(cluster: Any, image: str) -> Study:
    """A study with the undisturbed session `quiet`."""
    study = Study(cluster, image, "network")
    study.write_suite("network", CASES)
    step = study.finish("./network.yaml --session quiet")
    assert step.wait() == 0, step.said
    return study


Owner = tuple[str, str]
"""Node and log of a process."""


def owners(nodes: Nodes) -> dict[tuple[str, int], Owner]:
    return {place: (process.node, process.log) for place, process in nodes.listening().items()}


@dataclass(kw_only=True)
class Visited:
    """A session that a stranger visited from its first moment to its last."""

    study: Study
    step: Step
    secret: bytes
    joining: dict[tuple[str, int], Owner]
    """Listening sockets while a task was still missing, and the owner of each."""
    training: dict[tuple[str, int], Owner]
    words: bytes
    """Command lines and environments of every process of the cluster, at both times."""
    stranger: str
    """The stranger's output."""


@pytest.fixture(scope="module")
def visited(cluster: Any, study: Study, nodes: Nodes) -> Visited:
    study.hold("held")
    step = study.start("./network.yaml --session s", before=THE_OTHER_TASK_COMES_LATE)
    with Stranger(cluster, study.folder / "stranger.log") as stranger:
        until(lambda: step.ended or nodes.listening(), "listening")
        (secret,) = (path.read_bytes() for path in study.folder.glob(".step-*"))
        joining = owners(nodes)
        stranger.visit(joining)
        words = nodes.words()
        (study.folder / "come").touch()
        in_the_middle_of("held.2x2.r0", step, nodes)
        training = owners(nodes)
        stranger.visit(training)
        until(lambda: "set 12 keys" in stranger.said, "at the store")
        words += nodes.words()
        study.release("held")
        while not step.ended:  # also while ranks meet
            stranger.tell(nodes.listening())
            time.sleep(0.05)
    return Visited(
        study=study, step=step, secret=secret, joining=joining, training=training, words=words,
        stranger=stranger.said,
    )  # fmt: skip


def test_no_result_is_changed(visited: Visited) -> None:
    assert visited.step.wait() == 0, visited.step.said
    rows = "SELECT run_id, rank, step, loss FROM steps WHERE session_id = '{}' ORDER BY ALL"
    quiet, disturbed = (visited.study.asked(rows.format(name)) for name in ("quiet", "s"))
    assert len(quiet) == 12 * (4 + 2 + 4 + 8)
    assert disturbed == quiet


def test_the_stranger_did_reach_them(visited: Visited) -> None:
    ((address, port),) = visited.joining
    assert f"{address} {port} sent rubbish" in visited.stranger
    assert f"{address} {port} began handshakes" in visited.stranger
    assert visited.stranger.count("set 12 keys") >= 1


def test_who_does_not_know_the_secret_is_refused_and_counted(visited: Visited) -> None:
    assert re.search(
        r"bench: \d+ connections were refused: they did not show in time that they know this step's secret",
        visited.step.said,
    )


def test_only_the_steps_own_interface_is_listened_on(visited: Visited) -> None:
    assert {node for node, _ in visited.training.values()} == ADDRESSES.keys()
    for found in (visited.joining, visited.training):
        assert [place for place, (node, _) in found.items() if place[0] != ADDRESSES[node]] == []


def test_agents_listen_only_until_all_have_joined(visited: Visited) -> None:
    assert [node for node, _ in visited.joining.values()] == ["n1"]
    assert [log for _, log in visited.training.values() if not re.search(r"/rank\d\.log$", log)] == []


def test_no_command_line_and_no_environment_holds_the_secret(visited: Visited) -> None:
    assert b"SLURM_STEP_ID" in visited.words
    assert b"bench\0suite\0" in visited.words
    secret = visited.secret
    for form in (
        secret,
        secret.hex().encode(),
        base64.b64encode(secret),
        base64.urlsafe_b64encode(secret),
        b"store://",
    ):
        assert form not in visited.words
