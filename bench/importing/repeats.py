"""Rows of one case and size are its repeats, in the order in which they stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from bench.importing.found import Measurement


def numbered(found: Iterable[Measurement]) -> list[Measurement]:
    seen: Counter[tuple[str, int, int]] = Counter()
    done = []
    for one in found:
        done.append(replace(one, repeat=seen[one.size]))
        seen[one.size] += 1
    return done
