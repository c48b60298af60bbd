"""Slurm's lists of node names, written out."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.common.errors import InputError
from bench.slurm.hostlist import expand

prefixes = st.from_regex(r"[a-z]([a-z0-9.-]*[a-z-])?", fullmatch=True)
numbers = st.lists(st.integers(0, 1200), min_size=1, max_size=40, unique=True).map(sorted)


def compact(prefix: str, width: int, wanted: list[int]) -> str:
    """As Slurm writes it: runs of consecutive numbers as ranges, in brackets."""
    runs = []
    for _, run in itertools.groupby(enumerate(wanted), lambda pair: pair[1] - pair[0]):
        found = [f"{number:0{width}}" for _, number in run]
        runs.append(found[0] if len(found) == 1 else f"{found[0]}-{found[-1]}")
    return f"{prefix}[{','.join(runs)}]"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[1-2],login", ["n1", "n2", "login"]),
        ("n[01,07-08]", ["n01", "n07", "n08"]),
        ("n[098-101]", ["n098", "n099", "n100", "n101"]),
        ("n[8-11]", ["n8", "n9", "n10", "n11"]),
        ("rack[1-2]n[1-2]", ["rack1n1", "rack1n2", "rack2n1", "rack2n2"]),
        ("gpu[1-2].cluster.example", ["gpu1.cluster.example", "gpu2.cluster.example"]),
        ("b1,a[3,1],c", ["b1", "a3", "a1", "c"]),
        (" n[1-2]\n", ["n1", "n2"]),
    ],
)
def test_names_come_in_slurms_order_with_their_zeros(text: str, names: list[str]) -> None:
    assert expand(text) == tuple(names)


@settings(max_examples=75, deadline=None)
@given(st.lists(st.tuples(prefixes, st.integers(1, 5), numbers), min_size=1, max_size=4))
def test_what_was_made_compact_is_written_out_again(groups: list[tuple[str, int, list[int]]]) -> None:
    names = [f"{prefix}{number:0{width}}" for prefix, width, wanted in groups for number in wanted]
    assert expand(",".join(compact(*group) for group in groups)) == tuple(names)


@settings(max_examples=75, deadline=None)
@given(st.lists(prefixes, min_size=1))
def test_plain_names_stay_as_they_are(names: list[str]) -> None:
    assert expand(",".join(names)) == tuple(names)


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("n01-,[] é\n"), max_size=40) | st.text(max_size=40))
def test_whatever_it_is_there_are_names_or_an_error_of_input(text: str) -> None:
    try:
        names = expand(text)
    except InputError:
        return
    assert names
    assert all(name and not set(name) & set("[],") for name in names)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",",
        "n[",
        "n]",
        "n[]",
        "n[a]",
        "n[1-]",
        "n[-1]",
        "n[1-2-3]",
        "n[1,]",
        "n[[1]]",
        "n[1]]",
        "n[3-1],m1",
    ],
)
def test_what_is_no_list_is_told(text: str) -> None:
    with pytest.raises(InputError, match="is not a list of node names as Slurm writes them"):
        expand(text)


@pytest.mark.parametrize(
    "text",
    [
        "n[0-999999999]",
        "n[0-99999][0-99999]",
        "n" + "[0-99999]" * 10_000,
        ",".join(["n[0-99999]"] * 10_000),
        f"n[{','.join(['0-99999'] * 10_000)}]",
        f"n[0-{'9' * 100_000}]",
        f"n[{'0' * 100_000}-1]",
        "n" + "[" * 100_000,
        "," * 100_000 + "[",
    ],
    ids=lambda text: text[:20],
)
def test_a_list_of_more_names_than_any_step_has_costs_nothing(text: str) -> None:
    with pytest.raises(InputError) as told:
        expand(text)
    assert len(str(told.value)) < 1000


def test_a_long_list_of_plain_names_is_read() -> None:
    assert len(expand(",n" * 60_000)) == 60_000
