"""A process of the cluster's network that knows no secret: told addresses on its input, it does there what it can.

`stranger.py` says `ready` once torch is imported, then for each line `ADDRESS PORT` what it could do there.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from torch.distributed import TCPStore

from bench.launch.link.channel import GREETING

GUESSES = [
    "default_pg/0//cpu//0/rank_0", "default_pg/0/0/rank_1", "default_pg/0//store_based_barrier_key:1",
    "store_based_barrier_key:0", "store_based_barrier_key:1", "/default_pg/0//0", "worker_count", "init/",
    "rank_0", "cpu//0/0", "0/0", "1/0",
]  # fmt: skip
OPEN_S = 3.0
"""How long a connection that says nothing more stays open."""


def rubbish(address: str, port: int) -> str:
    for size in (1, 64, 4096, 1 << 18):
        with socket.create_connection((address, port), timeout=2) as connection, suppress(ConnectionError):
            connection.sendall(os.urandom(size))  # the other side may hang up before all of it is there
    return "sent rubbish"


def half_a_handshake(address: str, port: int) -> str:
    """As a follower that dies in it, as one with a wrong secret, and as another leader."""
    for said in (os.urandom(20), os.urandom(64), GREETING + os.urandom(32)):
        connection = socket.create_connection((address, port), timeout=2)
        connection.sendall(said)
        threading.Timer(OPEN_S, connection.close).start()
    return "began handshakes"


def plausible_keys(address: str, port: int) -> str:
    """With a real client of torch's store; where something else listens, it raises or waits for an answer."""
    store = TCPStore(address, port, is_master=False, timeout=timedelta(seconds=2))
    for key in GUESSES:
        store.set(key, os.urandom(64))
        store.add(f"{key}/count", 1)
    return f"set {len(GUESSES)} keys beside {store.num_keys() - 2 * len(GUESSES)} others"


ATTEMPTS: list[Callable[[str, int], str]] = [rubbish, half_a_handshake, plausible_keys]


def attempt(what: Callable[[str, int], str], address: str, port: int) -> None:
    try:
        done = what(address, port)
    except Exception as error:  # whatever the other side does to a stranger is right
        done = f"{what.__name__}: {type(error).__name__}"
    say(f"{address} {port} {done}")


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())  # whole lines, whoever else is saying something


def main() -> None:
    say("ready")
    for line in sys.stdin:
        address, port = line.split()
        for what in ATTEMPTS:
            threading.Thread(target=attempt, args=(what, address, int(port)), daemon=True).start()


if __name__ == "__main__":
    main()
