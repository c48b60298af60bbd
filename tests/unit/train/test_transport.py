"""NCCL's transport, from log lines that its users posted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.train import transport

OVER_TWO_NODES = """\
n1:4015539:4015539 [0] NCCL INFO NCCL version 2.27.3+cuda12.9
n1:4015539:4015652 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>
n1:4015539:4015652 [0] NCCL INFO Using network IB
n1:4015539:4015652 [0] NCCL INFO Channel 07/0 : 0[0] -> 2[0] [receive] via NET/IB/3/GDRDMA
n1:4015539:4015652 [0] NCCL INFO Channel 00/0 : 1[1] -> 3[1] [send] via NET/IB/2/GDRDMA
n1:4015539:4015652 [0] NCCL INFO Channel 00/0 : 3[1] -> 2[0] via P2P/CUMEM
"""


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (OVER_TWO_NODES, "NCCL 2.27.3 via NET/IB/GDRDMA, P2P/CUMEM; network IB"),
        ("x NCCL INFO Channel 01 : 0[0] -> 1[1] via SHM/direct/direct\n", "NCCL via SHM/direct/direct"),
        ("x NCCL INFO Using network Socket\n", "NCCL; network Socket"),
        ("x NCCL INFO comm 0x1 rank 0 nranks 1 - Init COMPLETE\n", None),
        ("", None),
    ],
)
def test_the_transport_is_read_from_the_log(log: str, expected: str | None) -> None:
    assert transport.parse_nccl_log(log, "NCCL") == expected


def test_who_has_set_nccl_debug_keeps_it(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCL_DEBUG", "WARN")
    monkeypatch.delenv("NCCL_DEBUG_FILE", raising=False)
    transport.request_nccl_log(os.environ, tmp_path, 0)
    assert (transport.os.environ["NCCL_DEBUG"], "NCCL_DEBUG_FILE" in transport.os.environ) == ("WARN", False)
    assert transport.of_nccl(tmp_path, 0) is None


def test_a_failed_rank_keeps_the_warnings_and_the_end_of_nccls_log(tmp_path) -> None:
    log = tmp_path / "rank1.log"
    log.write_text("output\n")
    transport.keep_nccl_log(tmp_path, 1, log)
    assert log.read_text() == "output\n"
    warning = "[2026-11-25 19:00:00] n1:7:8 [0] misc/socket.cc:484 NCCL WARN Connect to 10.0.0.2 failed"
    lines = [f"n1:7:8 [0] NCCL INFO line {number}" for number in range(99)]
    (tmp_path / "nccl.rank1.log").write_text("\n".join([*lines[:9], warning, *lines[9:]]))
    transport.keep_nccl_log(tmp_path, 1, log)
    first, title, *kept = log.read_text().splitlines()
    assert first == "output"
    assert "NCCL's log" in title
    assert kept == [warning, *lines[-50:]]


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """The environment of a rank whose user has set nothing."""
    monkeypatch.setattr(os, "environ", {"HOME": str(tmp_path)})
    return os.environ  # type: ignore[return-value]


def test_gloo_and_nccl_meet_on_the_interface_of_the_agents(variables: dict[str, str]) -> None:
    transport.meet_on("eth1", nodes=2)
    assert variables["GLOO_SOCKET_IFNAME"] == "eth1"
    assert variables["NCCL_SOCKET_IFNAME"] == "=eth1"  # the equals sign excludes eth10


def test_an_interface_that_the_user_has_set_stays(variables: dict[str, str]) -> None:
    variables |= {"GLOO_SOCKET_IFNAME": "ib0", "NCCL_SOCKET_IFNAME": "^lo"}
    transport.meet_on("eth1", nodes=2)
    assert (variables["GLOO_SOCKET_IFNAME"], variables["NCCL_SOCKET_IFNAME"]) == ("ib0", "^lo")


@pytest.mark.parametrize(
    ("line", "is_set"), [("NCCL_SOCKET_IFNAME = ib0", True), ("#NCCL_SOCKET_IFNAME=ib0", False)]
)
@pytest.mark.parametrize("named", [False, True])
def test_an_interface_in_nccls_own_file_stays(
    variables: dict[str, str], tmp_path: Path, line: str, is_set: bool, named: bool
) -> None:
    file = tmp_path / ("site.conf" if named else ".nccl.conf")
    file.write_text(f"NCCL_DEBUG=WARN\n{line}\n")
    if named:
        variables["NCCL_CONF_FILE"] = str(file)
    transport.meet_on("eth1", nodes=2)
    assert ("NCCL_SOCKET_IFNAME" in variables) is not is_set


def test_nccl_chooses_its_interface_on_one_node(variables: dict[str, str]) -> None:
    transport.meet_on("lo", nodes=1)
    assert variables["GLOO_SOCKET_IFNAME"] == "lo"
    assert "NCCL_SOCKET_IFNAME" not in variables


def test_without_a_known_interface_both_choose(variables: dict[str, str]) -> None:
    transport.meet_on(None, nodes=2)
    assert "GLOO_SOCKET_IFNAME" not in variables
    assert "NCCL_SOCKET_IFNAME" not in variables
