"""Rules on memory and strategy do not fail on missing facts, and find nothing that is not known."""

from __future__ import annotations

from functools import partial

import pytest

from analysis.database import schema
from analysis.loading import insert, read_files
from analysis.loading.scan import discover
from tests.factory import make_session
from tests.unit.analysis.conftest import Rows, derive_again, fetch
from tests.unit.diagnosis.planted import memory_growth, out_of_memory

FACTS = ("parameters", "couples_examples", "units", "flops_per_step", "error", "device_name", "accumulate")
MEMORY_AND_STRATEGY = (
    "different_loss",
    "fragmentation",
    "memory_growth",
    "needless_sharding",
    "nonfinite_loss",
    "out_of_memory",
    "recompiled",
    "replicated_memory",
    "underused_memory",
    "unused_parameters",
)
"""Rules under test."""
PLANTED = {"unknown": out_of_memory, "growing": memory_growth, "bare": memory_growth}
"""What is planted in each session before it is spoilt."""
CHANGES = (
    f"UPDATE runs SET {', '.join(f'{name} = NULL' for name in FACTS)}, config = NULL WHERE session_id = 'unknown'",
    "DELETE FROM environment WHERE session_id IN ('unknown', 'growing')",
    *(f"DELETE FROM {table} WHERE session_id = 'bare'" for table in schema.PARQUET_TABLES),
    "UPDATE runs SET config = '{}', batch_per_rank = 0, global_batch = 0 WHERE session_id = 'bare'",
)


@pytest.fixture(scope="module")
def found(in_memory, tmp_path_factory) -> dict[str, Rows]:
    """The findings in each spoilt session."""
    results = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patched:
        for name, planted in PLANTED.items():
            patched.setattr(planted, "make_session", partial(make_session, session_id=name, suite=name))
            planted.fires(results)
    in_memory.begin()
    insert.insert(in_memory, read_files.read(discover(results), {}))
    for change in CHANGES:
        in_memory.execute(change)
    derive_again(in_memory, [rule for rule in schema.shipped_rules() if rule.finding in MEMORY_AND_STRATEGY])
    rows = {name: fetch(in_memory, f"FROM diagnosis WHERE session_id = '{name}'") for name in PLANTED}
    in_memory.rollback()
    return rows


def test_runs_of_which_nothing_but_their_end_is_known_ran_out_of_memory_and_no_more(found):
    assert {row["finding"] for row in found["unknown"]} == {"out_of_memory"}
    # It is known that several ranks ran under DDP, but not with which batch.
    every_options = {row["options"] for row in found["unknown"]} - {None}
    assert all(options.endswith(".strategy=fsdp") for options in every_options)


def test_memory_that_grows_on_a_device_of_unknown_size_is_told_without_an_end(found):
    (row,) = [row for row in found["growing"] if row["finding"] == "memory_growth"]
    assert (
        row["evidence"]
        == "memory of rank 1 rises by 9.5 MiB per step, from the first to the last and in every ok repeat"
    )


def test_a_session_without_steps_memory_and_settings_has_no_finding_about_them(found):
    assert found["bare"] == []


@pytest.mark.parametrize(
    ("case_name", "options"),
    [
        ("ddp", "--set cases.ddp.strategy=fsdp"),
        ("ddp~preset=10m", "--set cases.ddp.strategy=fsdp"),
        ("ddp~bucket_cap_mb=4", None),
        ("ddp~preset=10m~name=fsdp1", None),
        ("ddp~strategy=fsdp1", None),
    ],
)
def test_another_strategy_is_advised_where_no_matrix_varies_the_one_that_is_there(
    in_memory, case_name, options
):
    now = "'{\"bucket_cap_mb\": 25}'::JSON"
    (answer,) = in_memory.execute(f"SELECT strategy_option_of(?, {now}, 'fsdp')", [case_name]).fetchone()
    assert answer == options


@pytest.mark.parametrize(
    ("train", "numbers"),
    [
        ('{"optimizer": "adamw", "momentum": 0.0, "ema_decay": null}', 4),
        ('{"optimizer": "sgd", "momentum": 0.0, "ema_decay": null}', 2),
        ('{"optimizer": "sgd", "momentum": 0.9, "ema_decay": 0.999}', 4),
    ],
)
def test_the_states_are_counted_by_the_numbers_that_an_optimizer_keeps(in_memory, train, numbers):
    (answer,) = in_memory.execute("SELECT state_bytes_of(1000, ?::JSON)", [train]).fetchone()
    assert answer == 4 * numbers * 1000
