"""The meeting place of a run's ranks: one address, one reserved port, one prefix that only they know."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
import torch
import torch.distributed as dist
from torch.distributed import PrefixStore, TCPStore

from bench.train import process_group

ADDRESS = "127.0.0.1"
LIMIT = timedelta(minutes=1)


@pytest.fixture
def reserved() -> Iterator[socket.socket]:
    with process_group.reserve(ADDRESS) as held:
        yield held


def rendezvous(reserved: socket.socket) -> str:
    return f"store://{ADDRESS}:{reserved.getsockname()[1]}/{secrets.token_hex(16)}"


def listening(port: int) -> list[str]:
    here = psutil.Process().net_connections("tcp")
    return [one.laddr.ip for one in here if one.status == psutil.CONN_LISTEN and one.laddr.port == port]


def test_a_reserved_port_listens_on_nothing_and_nobody_elses_program_gets_it(
    reserved: socket.socket,
) -> None:
    port = reserved.getsockname()[1]
    assert listening(port) == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((ADDRESS, port))
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind((ADDRESS, port))


def test_reservations_are_all_different() -> None:
    held = [process_group.reserve(ADDRESS) for _ in range(50)]
    assert len({one.getsockname()[1] for one in held}) == 50
    for one in held:
        one.close()


def test_rank_0_listens_on_that_one_address_and_the_others_find_it(reserved: socket.socket) -> None:
    where = rendezvous(reserved)
    leader = process_group._store(where, 0, LIMIT)
    assert listening(reserved.getsockname()[1]) == [ADDRESS]
    with ThreadPoolExecutor(3) as pool:
        others = list(pool.map(lambda rank: process_group._store(where, rank, LIMIT), (1, 2, 3)))
    leader.set("from", "0")
    assert [other.get("from") for other in others] == [b"0"] * 3
    others[0].set("from", "1")
    assert leader.get("from") == b"1"


def test_a_rank_may_come_before_rank_0(reserved: socket.socket) -> None:
    where = rendezvous(reserved)
    with ThreadPoolExecutor(1) as pool:
        early = pool.submit(process_group._store, where, 1, LIMIT)
        leader = process_group._store(where, 0, LIMIT)
        leader.set("from", "0")
        assert early.result().get("from") == b"0"


def test_what_a_stranger_writes_is_read_by_nobody(reserved: socket.socket) -> None:
    leader = process_group._store(rendezvous(reserved), 0, LIMIT)
    leader.set("0", "address of rank 0")
    stranger = TCPStore(ADDRESS, reserved.getsockname()[1], is_master=False)
    for key in ("0", "1", "/0", "default_pg/0/0"):
        stranger.set(key, "address of a stranger")
    PrefixStore("guess", stranger).set("0", "address of a stranger")
    assert leader.get("0") == b"address of rank 0"
    assert not leader.check(["1"])


def test_noise_does_the_store_no_harm(reserved: socket.socket) -> None:
    leader = process_group._store(rendezvous(reserved), 0, LIMIT)
    for size in (0, 1, 10, 1000, 100_000):
        stranger = socket.create_connection((ADDRESS, reserved.getsockname()[1]))
        with stranger, suppress(OSError):
            stranger.sendall(secrets.token_bytes(size))
    leader.set("still", "here")
    assert leader.get("still") == b"here"


def test_runs_after_each_other_have_ports_and_prefixes_of_their_own() -> None:
    with process_group.reserve(ADDRESS) as one, process_group.reserve(ADDRESS) as two:
        first, second = (
            process_group._store(rendezvous(one), 0, LIMIT),
            process_group._store(rendezvous(two), 0, LIMIT),
        )
        first.set("0", "first")
        assert not second.check(["0"])


@pytest.mark.parametrize("kind", ["store", "file"])
def test_a_rank_joins_meets_and_leaves(reserved: socket.socket, tmp_path: Path, kind: str) -> None:
    where = rendezvous(reserved) if kind == "store" else f"file://{tmp_path}/rendezvous"
    device = torch.device("cpu")
    process_group.join(where, 0, 1, device, timeout_s=3_600)
    try:
        assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
        process_group.barrier(device)
    finally:
        process_group.leave()
    assert not dist.is_initialized()
    process_group.leave()


def test_ranks_that_share_a_gpu_reduce_its_tensors_through_gloo(tmp_path: Path) -> None:
    assert process_group.backend("cuda") == "nccl"
    assert process_group.backend("cuda", cpu_too=True) == "cuda:nccl,cpu:gloo"
    chosen = process_group.backend("cuda", shared=True)
    dist.init_process_group(chosen, init_method=f"file://{tmp_path}/rendezvous", rank=0, world_size=1)
    try:
        of_each = [dist.group.WORLD._get_backend(torch.device(kind)).name() for kind in ("cpu", "cuda")]
    finally:
        process_group.leave()
    assert of_each == ["gloo", "gloo"]


def test_torch_waits_longer_in_every_group_than_the_agents_do(tmp_path: Path) -> None:
    """Otherwise it ends a run whose `timeout_s` is above 10 minutes, without a word about who waits for whom."""
    program = f"""
import os, sys, torch, torch.distributed as dist
from bench.train import process_group

cpu = torch.device("cpu")
process_group.join("file://{tmp_path}/rendezvous", 0, 1, cpu, timeout_s=7_200)
groups = [dist.group.WORLD, dist.new_group([0])]
print(*(group._get_backend(cpu).options._timeout.total_seconds() for group in groups))
print(dist.distributed_c10d._get_default_timeout("nccl").total_seconds())
print(os.environ["TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"])
"""
    new = {name: value for name, value in os.environ.items() if not name.startswith("TORCH_NCCL")}
    said = subprocess.run(
        [sys.executable, "-c", program], env=new, check=True, capture_output=True, text=True
    ).stdout
    limits_s = [float(word) for word in said.split()]
    assert len(limits_s) == 4
    assert min(limits_s) > 7_200
