"""CSV of whole trainings: the accepted forms, and every kind of refusal."""

from __future__ import annotations

import pytest

HEADER = "case,scaling,world_size,repeat,seconds,examples\n"
GOOD = HEADER + "ddp,strong,1,0,362.45,350000\nddp,strong,4,0,95.23,350000\n"


def bad(*lines: str) -> str:
    count = "1 problem" if len(lines) == 1 else f"{len(lines)} problems"
    return "\n  ".join([f"t.csv: {count}, nothing was imported:", *lines])


def test_every_column_arrives(read):
    (row,) = read(
        "tag,val_accuracy,val_loss,epochs,strategy,job_id,nodes,position,round,examples,seconds,repeat,world_size,"
        "scaling,case\n"
        "paper,0.953,1.2e-1,50,fsdp,123_4,2,7,4,350000,57.14,3,8,weak,my-case_1\n"
    ).rows
    assert (row.case, row.scaling, row.world_size, row.nodes, row.repeat) == ("my-case_1", "weak", 8, 2, 3)
    assert (row.round, row.position) == (4, 7)
    assert (row.seconds, row.examples, row.epochs) == (57.14, 350_000, 50)
    assert (row.val_loss, row.val_accuracy) == (0.12, 0.953)
    assert (row.job_id, row.strategy, row.tag, row.place) == ("123_4", "fsdp", "paper", "line 2")


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\r"),
        "\ufeff" + GOOD,
        GOOD.replace("ddp,", '"ddp",').replace(",", ", "),
        "\n" + GOOD.replace("\n", "\n\n") + ",,,,,\n",
        GOOD.rstrip("\n"),
    ],
    ids=["CRLF", "CR", "BOM", "quotes and spaces", "empty lines", "no last line end"],
)
def test_what_spreadsheets_do_to_a_file_changes_nothing(read, text):
    assert [(row.world_size, row.seconds) for row in read(text).rows] == [(1, 362.45), (4, 95.23)]


def test_a_matrix_case_keeps_its_name(read):
    assert read(GOOD.replace("ddp,", "ddp~compile=true,")).rows[0].case == "ddp~compile=true"


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("seconds", '"1,234.5"', "'1,234.5' has a separator between thousands: write 1234.5"),
        ("seconds", '"1,234"', "'1,234' can be read in two ways: write 1234 or 1.234, without a comma"),
        ("seconds", '"95,23"', "'95,23' has a decimal comma: write 95.23"),
        ("seconds", '"1.234,5"', "'1.234,5' has a decimal comma: write 1234.5"),
        ("seconds", "1 234.5", "'1 234.5' has a separator between thousands: write 1234.5"),
        ("seconds", "1_234", "'1_234' has a separator between thousands: write 1234"),
        ("seconds", "95.23s", "'95.23s' has a unit: write 95.23"),
        ("seconds", "0", "0 is not above 0: a training takes time"),
        ("seconds", "1e-999", "1e-999 is shorter than 1e-06 s: no training is"),
        ("seconds", "-3", "-3 is not above 0: a training takes time"),
        ("seconds", "nan", "'nan' is not a finite number"),
        ("seconds", "inf", "'inf' is not a finite number"),
        ("seconds", "1e99", "1e99 is longer than 1,000,000,000 s"),
        ("seconds", "0x10", "'0x10' is not a number"),
        ("seconds", "", "is empty: every row needs one"),
        ("world_size", "4.5", "4.5 is not a whole number"),
        ("world_size", "0", "0 is not within 1 and 1,000,000"),
        ("world_size", "four", "'four' is not a number"),
        ("repeat", "-1", "-1 is not within 0 and 99,999"),
        ("examples", "350k", "'350k' has a unit: write 350"),
        ("examples", "0", "0 is not within 1 and 9,007,199,254,740,992"),
        ("scaling", "Strong", "'Strong' is not none or strong or weak; did you mean strong?"),
        ("case", "DDP 4", "'DDP 4' is not a case name: a-z, 0-9, '_' and '-', 64 at most"),
        ("case", "../up", "'../up' is not a case name: a-z, 0-9, '_' and '-', 64 at most"),
    ],
)
def test_a_bad_value_is_named_by_line_and_column_with_its_remedy(refusal, column, cell, message):
    names = HEADER.strip().split(",")
    row = dict(zip(names, ["ddp", "strong", "4", "0", "95.23", "350000"], strict=True)) | {column: cell}
    text = GOOD.replace("ddp,strong,4,0,95.23,350000", ",".join(row.values()))
    assert refusal(text) == bad(f"line 3, column {column}: {message}")


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("val_accuracy", "95.3", "95.3 is not a fraction from 0 to 1: write 0.953"),
        ("val_accuracy", "-1", "-1 is not a fraction from 0 to 1"),
        ("val_accuracy", "953", "953 is not a fraction from 0 to 1"),
        ("val_loss", "nan", "'nan' is not a finite number"),
        ("epochs", "0", "0 is not within 1 and 9,007,199,254,740,992"),
        ("nodes", "0", "0 is not within 1 and 1,000,000"),
        (
            "tag",
            "a\x1bb",
            r"'a\x1bb' is not a name: letters, digits, '.', '_', '-', ':', '/', 64 at most",
        ),
    ],
)
def test_so_is_one_of_an_optional_column(refusal, column, cell, message):
    text = f"{HEADER.strip()},{column}\nddp,strong,1,0,1.5,10,{cell}\n"
    assert refusal(text) == bad(f"line 2, column {column}: {message}")


def test_all_bad_values_are_named_at_once(refusal):
    assert refusal(HEADER + "ddp,strong,x,0,-1,10\nddp,strong\n,weak,1,0,1,1\n") == bad(
        "line 2, column world_size: 'x' is not a number",
        "line 2, column seconds: -1 is not above 0: a training takes time",
        "line 3: 2 cells, the header has 6",
        "line 4, column case: is empty: every row needs one",
    )


def test_of_more_than_twenty_the_others_are_counted(refusal):
    lines = refusal(HEADER + "ddp,strong,1,0,0,10\n" * 1_021).splitlines()
    assert lines[0] == "t.csv: 1,021 problems, nothing was imported:"
    assert (len(lines), lines[-1]) == (22, "  and 1,001 more")


def test_a_number_with_a_comma_that_is_not_quoted_is_an_extra_cell(refusal):
    assert refusal(HEADER + "ddp,strong,1,0,1,234.5,10\n") == bad(
        "line 2: 7 cells, the header has 6: write numbers without a comma"
    )


def test_an_unknown_column_is_an_error_with_the_nearest_name(refusal):
    known = "case, scaling, world_size, repeat, seconds, examples, round, position, nodes, job_id, strategy, "
    known += "epochs, val_loss, val_accuracy, tag"
    assert refusal(HEADER.replace("seconds", "Second").replace("\n", ",power\n")) == bad(
        f"line 1: unknown column 'Second'; did you mean seconds?; known are {known}",
        f"line 1: unknown column 'power'; known are {known}",
        "line 1: no column seconds: a header has case,scaling,world_size,repeat,seconds,examples",
    )


def test_a_column_may_be_there_once(refusal):
    assert refusal(HEADER.replace("\n", ",case\n")) == bad("line 1: column case occurs 2 times: keep one")


@pytest.mark.parametrize(("separator", "name"), [(";", "semicolons"), ("\t", "tabs")])
def test_other_separators_are_named(refusal, separator, name):
    assert refusal(GOOD.replace(",", separator).replace(".", ",")) == (
        f"t.csv: line 1: columns are separated by {name}: save it with commas between columns and points in numbers"
    )


def test_a_run_is_there_once(refusal):
    text = GOOD + "ddp,strong,4,0,96,350000\nddp,strong,4,1,96,350000\n"
    assert refusal(text) == bad(
        "line 4: case ddp, world_size 4, repeat 0 is already on line 3: number the repeats"
    )


def test_strong_scaling_is_the_same_work_at_every_size(refusal):
    assert refusal(GOOD + "ddp,strong,8,0,57,400000\n") == bad(
        "line 4: examples is 400,000, but 350,000 on line 2, in case ddp: strong scaling means the same work at every "
        "size; otherwise use weak"
    )


def test_a_case_scales_in_one_way(refusal):
    assert refusal(GOOD + "ddp,weak,8,0,57,350000\n") == bad(
        "line 4: scaling is weak, but strong on line 2, in case ddp: a case has one; give the other rows another case"
    )


def test_ranks_divide_among_nodes(refusal):
    assert refusal(HEADER.replace("\n", ",nodes\n") + "ddp,strong,6,0,1,1,4\n") == bad(
        "line 2: 6 ranks do not divide among 4 nodes: a placement has the same number on each"
    )


def test_examples_are_known_of_all_rows_or_of_none(read, refusal):
    unknown = "alone,none,1,0,360,\n"
    assert refusal(GOOD + unknown) == bad(
        "line 4: examples are not known, but on line 2 they are: all rows or none"
    )
    assert read(HEADER + unknown).rows[0].examples is None


def test_weak_scaling_needs_examples(refusal):
    assert refusal(HEADER + "ddp,weak,1,0,360,\n") == bad(
        "line 2: examples are not known: weak scaling needs them, since the work grows with the size"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "t.csv: the file is empty"),
        (b" \n\n", "t.csv: the file is empty"),
        (HEADER.encode(), "t.csv: has a header and no rows"),
        (GOOD.encode("utf-16"), "t.csv: UTF-16 text: save it as UTF-8 (a spreadsheet calls it `CSV UTF-8`)"),
        (GOOD.encode() + b"\0", "t.csv: contains zero bytes: not a text file"),
        (
            GOOD.encode() + b"d\xe4p,strong,1,0,1,1\n",
            "t.csv: line 4: byte 0xe4 is not UTF-8: save the file as UTF-8",
        ),
        (GOOD.encode() + b'"ddp,strong', "t.csv: line 4: not CSV: unexpected end of data"),
    ],
)
def test_what_is_no_text_is_refused_with_the_reason(refusal, content, message):
    assert refusal(content) == message


def test_an_option_that_a_csv_answers_itself_is_refused(refusal):
    assert refusal(GOOD, examples=5, world=2) == "--examples, --world: a CSV already says that: leave it out"


def test_a_size_is_once_in_a_round(refusal, read):
    rows = "case,scaling,world_size,repeat,seconds,examples,round\na,strong,1,0,5,1,0\na,strong,1,1,5,1,0\n"
    assert refusal(rows) == bad(
        "line 3: case a, world_size 1 is already in round 0 on line 2: a round has every size once; leave round empty "
        "if the order of the runs is not known"
    )
    assert [row.round for row in read(rows.replace("0\n", "\n")).rows] == [None, None]
