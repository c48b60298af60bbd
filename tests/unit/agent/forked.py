"""Answers questions of test_fork_server.py about the process in which a rank begins."""

from __future__ import annotations

import gc
import json
import sys
from multiprocessing.connection import Connection


def main(answer: Connection, _question: str) -> None:
    objects = [len(gc.get_objects(generation)) for generation in range(3)]
    loaded = [name for name in ("torch", "torch._dynamo", "bench.train.loop") if name in sys.modules]
    answer.send_bytes(json.dumps({"loaded": loaded, "objects": objects}).encode())
