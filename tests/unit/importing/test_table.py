"""Tables as programs and tutorials print them."""

from __future__ import annotations

from pathlib import Path

import pytest

PUBLISHED = (Path(__file__).parents[3] / "docs/examples/published_table.txt").read_text(encoding="utf-8")
SHORT = "GPUs  Time (s)\n1     360\n4     95.5\n"


def figures(found):
    return [(row.case, row.world_size, row.nodes, row.repeat, row.seconds) for row in found.rows]


def bad(*lines: str) -> str:
    count = "1 problem" if len(lines) == 1 else f"{len(lines)} problems"
    return "\n  ".join([f"t.txt: {count}, nothing was imported:", *lines])


def test_the_published_table_is_one_case_at_three_sizes(read):
    found = read(PUBLISHED, "t.txt")
    assert figures(found) == [("demo", 1, 1, 0, 362.45), ("demo", 4, 1, 0, 95.23), ("demo", 8, 2, 0, 57.14)]
    assert [row.epochs for row in found.rows] == [50, 50, 50]
    assert [(row.val_loss, row.val_accuracy) for row in found.rows] == [
        (0.1187, 0.953), (0.1192, 0.9525), (0.1190, 0.9527),
    ]  # fmt: skip
    assert [row.job_id for row in found.rows] == ["123456", "123457", "123458"]
    assert {(row.scaling, row.strategy, row.examples) for row in found.rows} == {("strong", None, None)}


def test_what_stands_around_a_table_is_passed_over(read):
    around = f"BENCHMARK RESULTS SUMMARY\n{'=' * 90}\n{PUBLISHED}{'=' * 90}\n\nSPEEDUP ANALYSIS\nSingle GPU: 1.00x\n"
    assert figures(read(around, "t.txt")) == figures(read(PUBLISHED, "t.txt"))


def test_so_are_fences_and_empty_lines_below_the_rule(read):
    fenced = f"```\n{PUBLISHED}```\nText with  two  gaps.\n"
    assert figures(read(fenced, "t.txt")) == figures(read(PUBLISHED, "t.txt"))


@pytest.mark.parametrize(
    "text",
    [
        "GPUs\tTime (s)\n1\t360\n4\t95.5\n",
        "  GPUs   Time (s)\n     1        360\n     4       95.5\n",
        "| GPUs | Time (s) |\n|-----:|:--------:|\n| 1 | 360 |\n| **4** | `95.5` |\n",
        "GPUs | Time (s)\n--- | ---\n1 | 360\n4 | 95.5\n",
        "+------+------+\n| GPUs | Time (s) |\n+======+====+\n|    1 |   360 |\n|    4 |  95.5 |\n+------+\n",
        "# GPUs  Speedup  Wall time (min)  Efficiency (%)\n1  1.00x  6.0  100\n4  3.8x  1.59166666666666666667  94\n",
        "gpus  time\n1  6 min\n4  95.5s\n",
        "Ranks  Total time (h)\n1  0.1\n4  0.02652777777777777777778\n",
        "World size  Time\n1  0:06:00\n4  0:01:35.5\n",
    ],
    ids=["tabs", "right", "Markdown", "bare pipes", "grid", "minutes and derived", "units in cells", "hours", "clock"],
)  # fmt: skip
def test_the_same_table_in_other_dress(read, text):
    assert figures(read(text, "t.txt")) == [("demo", 1, 1, 0, 360.0), ("demo", 4, 1, 0, pytest.approx(95.5))]


def test_headings_may_stand_one_space_apart(read):
    text = "Job ID GPUs Total time (s) Time/Epoch (s)\n7  4  95.5  1.91\n"
    (row,) = read(text, "t.txt").rows
    assert (row.job_id, row.world_size, row.seconds, row.epochs) == ("7", 4, 95.5, 50)


@pytest.mark.parametrize(
    ("configuration", "case"),
    [
        ("Single GPU", None),
        ("4 GPUs (1 node)", None),
        ("Multi-GPU", None),
        ("Multi-Node (2 nodes)", None),
        ("FSDP 8 GPUs (2 nodes)", "fsdp"),
        ("DDP, bf16", "ddp_bf16"),
        ("ResNet-50 on 4 GPUs", "resnet_50_on"),
    ],
)
def test_a_configuration_is_a_case_beside_its_sizes(read, configuration, case):
    text = f"Configuration  GPUs  Time (s)\n{configuration}  4  95\n"
    assert read(text, "t.txt").rows[0].case == (case or "demo")


def test_a_case_can_be_named_for_all_rows(read):
    text = "Configuration  GPUs  Time (s)\nDDP  4  95\nFSDP  8  60\n"
    assert [row.case for row in read(text, "t.txt", case="mine").rows] == ["mine", "mine"]


def test_without_a_configuration_the_strategy_tells_cases_apart(read):
    found = read("Strategy  GPUs  Time (s)\nDDP  4  95\nFSDP  4  60\n", "t.txt")
    assert [(row.case, row.strategy) for row in found.rows] == [("ddp", "DDP"), ("fsdp", "FSDP")]


def test_rows_of_one_size_are_repeats(read):
    assert figures(read(SHORT + "4     96\n", "t.txt"))[1:] == [
        ("demo", 4, 1, 0, 95.5),
        ("demo", 4, 1, 1, 96.0),
    ]


WITH_HOLES = """
GPUs  Time (s)  Val Loss  Val Acc
1     360       N/A       95.3%
4     95.5                0.95
8     57        0.1       0.9
"""


def test_missing_cells_are_unknown_also_where_nothing_stands_in_them(read):
    assert [(row.val_loss, row.val_accuracy) for row in read(WITH_HOLES, "t.txt").rows] == [
        (None, 0.953), (None, 0.95), (0.1, 0.9),
    ]  # fmt: skip


def test_percent_in_a_heading_is_read(read):
    assert read("GPUs  Time (s)  Val Acc (%)\n1  360  95.3\n", "t.txt").rows[0].val_accuracy == 0.953


@pytest.mark.parametrize(
    ("epoch_times", "epochs"),
    [
        (("7.25", "1.90"), 50),
        (("7.2", "1.9"), 50),  # 362.45 / 7.2 allows 49.99 to 50.7; 95.23 / 1.9 allows 48.8 to 51.5
        (("7", "2"), None),  # more than one whole number fits
        (("7.25", "9.99"), None),  # none fits
        (("7.25", "-"), 50),
        (("0", "0"), None),
    ],
)
def test_epochs_are_the_one_whole_number_that_both_times_allow(read, epoch_times, epochs):
    first, second = epoch_times
    text = f"GPUs  Time (s)  Time/Epoch (s)\n1  362.45  {first}\n4  95.23  {second}\n"
    if "0" in epoch_times:
        text = text.replace("  0\n", "  0.001\n")
    assert [row.epochs for row in read(text, "t.txt").rows] == [epochs, epochs]


def test_examples_of_a_training_can_be_said(read):
    assert [row.examples for row in read(SHORT, "t.txt", examples=350_000).rows] == [350_000, 350_000]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SHORT + "8     fast\n", "line 4, column Time (s): 'fast' is not a number"),
        (
            SHORT + "8     -\n",
            "line 4, column Time (s): is unknown, and without it the row means nothing: remove the line",
        ),
        (
            SHORT + "8     1,234.5\n",
            "line 4, column Time (s): '1,234.5' has a separator between thousands: write 1234.5",
        ),
        (
            SHORT.replace(" (s)", ""),
            "line 2, column Time: 360 has no unit, neither here nor in the heading: write 360 s or 360 min",
        ),
        (
            SHORT + "total 3 runs\n",
            "line 4: its cells do not match the 2 headings: separate columns by two or more spaces, write - where a "
            "value is not known, and leave an empty line below the table",
        ),
        (SHORT + "\nGPUs  Time (s)\n2  3\n", "line 5: a second table begins here: one table per file"),
        (
            "GPUs  Time (s)  GPUs\n1  2  3\n",
            "line 1: a second column for 'GPUs': keep one",
        ),
    ],
)
def test_what_is_wrong_is_named_by_line_and_column(refusal, text, message):
    lines = refusal(text, "t.txt").splitlines()
    assert lines[1] == f"  {message}"
    assert lines[0].endswith("nothing was imported:")


def test_an_unknown_heading_is_an_error_with_the_known_ones(refusal):
    known = (
        "Job ID, Configuration, Strategy, GPUs, Nodes, Time (s), Time/Epoch (s), Epochs, Val Loss, Val Acc"
    )
    assert refusal("GPUs  Time (s)  Noodles\n1  2  3\n", "t.txt") == bad(
        f"line 1: unknown heading 'Noodles'; did you mean Nodes?; known are {known}"
    )


def test_ranks_that_do_not_divide_are_named(refusal):
    assert refusal("GPUs  Nodes  Time (s)\n6  4  3\n", "t.txt") == bad(
        "line 2: 6 ranks do not divide among 4 nodes: a placement has the same number on each"
    )


def test_a_file_of_no_format_says_what_was_looked_for(refusal):
    assert refusal("Dear all,\nit took six minutes.\n", "t.txt") == (
        "t.txt: neither a CSV (first line case,scaling,world_size,repeat,seconds,examples), nor a table (a line of "
        "headings such as `GPUs  Time (s)`), nor a log (a line `Total training time: 362.45 s`), nor output "
        "of nccl-tests (its JSON or its table), nor a published table (a .toml file); "
        "choose one with --format"
    )


def test_a_format_that_was_asked_for_says_what_it_lacks(refusal):
    assert refusal("one two\n", "t.txt", kind="table").startswith(
        "t.txt: no line of headings with a size and a time, such as `GPUs  Time (s)`; known headings are Job ID,"
    )
    assert refusal(SHORT, "t.txt", kind="csv").startswith(
        "t.txt: 2 problems, nothing was imported:\n  line 1: "
    )
