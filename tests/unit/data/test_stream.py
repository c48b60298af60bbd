"""A loader of the user: its batches without an end, in turn or sharded, and errors that say what to change."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.common.errors import InputError
from bench.data.stream import Stream, StreamError

NUMBERS = """
import torch
class Numbers:
    def __init__(self, batch_size, first, examples=12):
        self.batch_size, self.first, self.examples = batch_size, first, examples
    def __iter__(self):
        for begin in range(self.first, self.first + self.examples, self.batch_size):
            yield {"x": torch.arange(begin, begin + self.batch_size)}
"""
Loaded = Callable[..., Stream]


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    def load(body: str, *, sizes_vary: bool = False, **options: Any) -> Stream:
        (tmp_path / "mine.py").write_text(f"{NUMBERS}\n{body}\n")
        return Stream(
            f"{tmp_path}/mine.py:loader",
            options,
            data_root="/data",
            seed=5,
            options="its",
            sizes_vary=sizes_vary,
        )

    return load


def taken(
    stream: Stream, batches: int, *, index: int = 0, count: int = 1, batch_size: int = 4
) -> list[list[int]]:
    found = stream.batches(index=index, count=count, batch_size=batch_size, workers=0)
    return [batch["x"].tolist() for batch in islice(found, batches)]


def test_a_loader_gets_its_shard_and_the_suites_options(loaded: Loaded) -> None:
    stream = loaded(
        "seen = {}\n"
        "def loader(shard, first, step=1):\n"
        "    seen.update(vars(shard), first=first, step=step)\n"
        "    return Numbers(shard.batch_size, first)",
        first=3,
    )
    assert taken(stream, 1, index=1, count=2) == [[3, 4, 5, 6]]
    import sys

    assert sys.modules["bench_custom_mine"].seen == {
        "index": 1, "count": 2, "batch_size": 4, "seed": 5, "workers": 0, "data_root": "/data", "options": "its",
        "first": 3, "step": 1,
    }  # fmt: skip
    assert stream.sharding == "loader"


@pytest.mark.parametrize("part", ["{}", "Holds({})", "shard.round_robin(Holds({}))"])
def test_it_begins_again_at_its_end_and_is_told_the_epoch(loaded: Loaded, part: str) -> None:
    stream = loaded(
        "class Epochs(Numbers):\n"
        "    def set_epoch(self, epoch): self.first = 100 * epoch\n"
        "class Holds:\n"
        "    def __init__(self, dataset): self.dataset = dataset\n"
        "    def __iter__(self): return iter(self.dataset)\n"
        f"def loader(shard): return {part.format('Epochs(shard.batch_size, 0, examples=8)')}"
    )
    assert taken(stream, 5) == [
        [0, 1, 2, 3], [4, 5, 6, 7], [100, 101, 102, 103], [104, 105, 106, 107], [200, 201, 202, 203],
    ]  # fmt: skip


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_batches_in_turn_are_the_same_global_batches_at_every_world_size(loaded: Loaded, ranks: int) -> None:
    stream = loaded("def loader(shard): return shard.round_robin(Numbers(shard.batch_size, 0))")
    each = [taken(stream, 4, index=rank, count=ranks, batch_size=12 // ranks) for rank in range(ranks)]
    assert stream.sharding == "round_robin"
    for step in range(4):
        assert sorted(number for rank in each for number in rank[step]) == list(range(12))


def test_the_first_batch_of_any_size_takes_the_place_of_the_workloads(loaded: Loaded) -> None:
    stream = loaded("def loader(shard): return Numbers(shard.batch_size, 0)")
    assert stream.first(3)["x"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ("def loader(shard): 1 / 0", InputError, "loader() raised ZeroDivisionError: division by zero (line 10)"),
        (
            "def loader(shard): return 7",
            InputError,
            "mine.py:loader() returned int: return an iterable of batches, as a torch.utils.data.DataLoader",
        ),
        ("def loader(shard): return {}", InputError, "mine.py:loader() returned dict"),
        (
            "def loader(shard, more): return []",
            InputError,
            "mine.py:loader() raised TypeError: loader() missing 1 required positional argument: 'more'",
        ),
        ("loader = 7", InputError, "mine.py has no function loader"),
        ("def loader(shard): return []", StreamError, "mine.py:loader() gave no batch"),
        (
            "def loader(shard): return [(1, 2)]",
            StreamError,
            "batch 0 of mine.py:loader() is a tuple of 2: give a dict of tensors, or of objects with a method `to`",
        ),
        ("def loader(shard): return [{'x': torch.zeros(4)}, None]", StreamError, "batch 1 of mine.py:loader() is None"),
        ("def loader(shard): return [{}]", StreamError, "batch 0 of mine.py:loader() is {}: give a dict of tensors"),
        (
            "def loader(shard): return [{'x': torch.zeros(3)}]",
            StreamError,
            "batch 0 of mine.py:loader() has 3 examples instead of 4: use shard.batch_size and drop the last batch",
        ),
        (
            "def loader(shard): return (one for one in Numbers(4, 0))",
            StreamError,
            "the stream of mine.py:loader() ended after 3 batches and did not begin again: return an iterable that can "
            "be iterated again, as a DataLoader, not generator, which can be read once",
        ),
        (
            "def loader(shard): return shard.round_robin(iter([{'x': torch.zeros(4)}]))",
            StreamError,
            "ended after 1 batches and did not begin again",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_with_the_remedy(
    loaded: Loaded, body: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as refused:
        taken(loaded(body), 10)
    assert message in str(refused.value)


def test_sizes_may_vary_if_the_workload_counts_them(loaded: Loaded) -> None:
    body = "def loader(shard): return [{'x': torch.zeros(3)}, {'x': torch.zeros(5)}]"
    stream = loaded(body, sizes_vary=True)
    found = stream.batches(index=0, count=1, batch_size=4, workers=0)
    assert [len(batch["x"]) for batch in islice(found, 3)] == [3, 5, 3]


def test_a_batch_without_tensors_has_no_size_and_a_batch_may_be_any_mapping(loaded: Loaded) -> None:
    stream = loaded(
        "from collections import UserDict\n"
        "class Graph:\n"
        "    def to(self, device, non_blocking=False): return self\n"
        "def loader(shard): return [UserDict(graph=Graph())]"
    )
    found = stream.batches(index=0, count=1, batch_size=4, workers=0)
    assert [list(batch) for batch in islice(found, 2)] == [["graph"], ["graph"]]


def test_a_parquet_file_is_a_stream_that_ranks_take_in_turn(loaded: Loaded, tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": range(12)}), tmp_path / "x.parquet")
    stream = loaded(
        "import pyarrow.parquet as pq\n"
        "class Rows:\n"
        "    def __init__(self, file, size): self.file, self.size = file, size\n"
        "    def __iter__(self):\n"
        "        for part in pq.ParquetFile(self.file).iter_batches(self.size):\n"
        "            yield {'x': torch.from_numpy(part['x'].to_numpy().copy())}\n"
        "def loader(shard, file): return shard.round_robin(Rows(file, shard.batch_size))",
        file=str(tmp_path / "x.parquet"),
    )
    assert taken(stream, 3, index=1, count=2, batch_size=3) == [[3, 4, 5], [9, 10, 11], [3, 4, 5]]
