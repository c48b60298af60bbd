"""A process in the cluster's network that knows no secret. It reads addresses from its input and tries attacks there.

`stranger.py` prints `ready` once torch is imported. For each input line `ADDRESS PORT` it then prints its results."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from torch.distributed import TCPStore

from bench.cluster.channel import GREETING

GUESSES = [
    "default_pg/0//cpu//0/rank_0", "default_pg/0/0/rank_1", "default_pg/0//store_based_barrier_key:1",
    "store_based_barrier_key:0", "store_based_barrier_key:1", "/default_pg/0//0", "worker_count", "init/",
    "rank_0", "cpu//0/0", "0/0", "1/0",
]  # fmt: skip
OPEN_S = 3.0
"""Time that a connection stays open after it falls silent."""


def rubbish(address: str, port: int) -> str:
    for size in (1, 64, 4096, 1 << 18):
        with socket.create_connection((address, port), timeout=2) as connection, suppress(ConnectionError):
            connection.sendall(os.urandom(size))  # the other side may hang up before the end
    return "sent rubbish"


def half_a_handshake(address: str, port: int) -> str:
    """Pretend to be a follower that dies during the handshake, one with a wrong secret, and another leader."""
    for said in (os.urandom(20), os.urandom(64), GREETING + os.urandom(32)):
        connection = socket.create_connection((address, port), timeout=2)
        connection.sendall(said)
        threading.Timer(OPEN_S, connection.close).start()
    return "began handshakes"


def plausible_keys(address: str, port: int) -> str:
    """Use a real client of torch's store; on another kind of port, the client raises or waits for an answer."""
    store = TCPStore(address, port, is_master=False, timeout=timedelta(seconds=2))
    for key in GUESSES:
        store.set(key, os.urandom(64))
        store.add(f"{key}/count", 1)
    return f"set {len(GUESSES)} keys next to {store.num_keys() - 2 * len(GUESSES)} others"


ATTEMPTS: list[Callable[[str, int], str]] = [rubbish, half_a_handshake, plausible_keys]


def attempt(what: Callable[[str, int], str], address: str, port: int) -> None:
    try:
        done = what(address, port)
    except Exception as error:  # the other side may treat a stranger as it likes
        done = f"{what.__name__}: {type(error).__name__}"
    say(f"{address} {port} {done}")


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())  # print whole lines, even if others print at the same time


def main() -> None:
    say("ready")
    for line in sys.stdin:
        address, port = line.split()
        for what in ATTEMPTS:
            threading.Thread(target=attempt, args=(what, address, int(port)), daemon=True).start()


if __name__ == "__main__":
    main()
