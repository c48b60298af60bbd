"""Rules on memory and strategy do not fail on missing facts, and find nothing that is not known."""

from __future__ import annotations

import pytest

from analysis.database import schema
from tests.unit.analysis.conftest import derive_again
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


@pytest.fixture
def spoilt(results, read_back, in_memory):
    """`spoilt(plant, changes...)` takes a session in, changes the tables, and returns a function that queries them."""

    def run(plant, *changes):
        plant(results)
        ask = read_back()
        asked = [rule for rule in schema.shipped_rules() if rule.finding in MEMORY_AND_STRATEGY]
        for change in changes:
            in_memory.execute(change)
        derive_again(in_memory, asked)
        return ask

    return run


def test_runs_of_which_nothing_but_their_end_is_known_ran_out_of_memory_and_no_more(spoilt):
    unknown = ", ".join(f"{name} = NULL" for name in FACTS)
    ask = spoilt(out_of_memory.fires, f"UPDATE runs SET {unknown}, config = NULL", "DELETE FROM environment")
    found = ask("FROM diagnosis")
    assert {row["finding"] for row in found} == {"out_of_memory"}
    # It is known that several ranks ran under DDP, but not with which batch.
    every_options = {row["options"] for row in found} - {None}
    assert all(options.endswith(".strategy=fsdp") for options in every_options)


def test_memory_that_grows_on_a_device_of_unknown_size_is_told_without_an_end(spoilt):
    ask = spoilt(memory_growth.fires, "DELETE FROM environment")
    (row,) = ask("FROM diagnosis WHERE finding = 'memory_growth'")
    assert (
        row["evidence"]
        == "memory of rank 1 rises by 9.5 MiB per step, from the first to the last and in every ok repeat"
    )


def test_a_session_without_steps_memory_and_settings_has_no_finding_about_them(spoilt):
    nothing = [f"DELETE FROM {table}" for table in schema.PARQUET_TABLES]
    ask = spoilt(
        memory_growth.fires, *nothing, "UPDATE runs SET config = '{}', batch_per_rank = 0, global_batch = 0"
    )
    assert ask("FROM diagnosis") == []


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
