"""compare with several sessions a side, compare_cases within a session, and what differs in the fingerprints."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from scipy import stats

from tests.factory import Case, make_session

DAYS = {
    "a1": [10.0, 10.1, 10.2],
    "a2": [10.6, 10.7, 10.5],
    "a3": [10.3, 10.2],
    "b1": [9.0, 9.1, 9.2],
    "b2": [9.7, 9.6, 9.5, 9.4],
}
UNEQUAL = (["a1", "a2", "a3"], ["b1", "b2"])


def logs(step_ms):
    return np.log(64 / (np.array(step_ms) / 1e3))


@pytest.fixture
def days(results, read_back):
    """Five sessions of one case."""
    for name, step_ms in DAYS.items():
        cases = [Case(name="ddp", step_ms={2: step_ms}, repeats=len(step_ms))]
        make_session(results, cases, session_id=name)
    return read_back()


def compared(ask, baseline, candidate):
    (row,) = ask(f"FROM compare({baseline!r}, {candidate!r})")
    return row


def welch(row, old, new):
    """Whether the row's interval and probability are those of these units."""
    test = stats.ttest_ind(new, old, equal_var=False)
    interval = test.confidence_interval(0.95)
    found = [row["ratio"], row["ratio_lo"], row["ratio_hi"], row["p_value"]]
    middle = np.exp(np.mean(new) - np.mean(old))
    return found == pytest.approx(
        [middle, np.exp(interval.low), np.exp(interval.high), test.pvalue], rel=2e-4
    )


def test_where_both_sides_have_several_sessions_the_session_is_the_unit(days):
    row = compared(days, *UNEQUAL)
    old, new = ([logs(DAYS[name]).mean() for name in side] for side in UNEQUAL)
    assert welch(row, old, new)
    assert (row["unit"], row["baseline_sessions"], row["candidate_sessions"]) == ("session", 3, 2)
    assert (row["baseline_repeats"], row["candidate_repeats"]) == (8, 7)
    assert row["baseline_throughput"] == pytest.approx(np.exp(np.mean(old)))


def test_against_a_single_session_the_repeat_is_the_unit(days):
    row = compared(days, ["a1", "a2", "a3"], ["b1"])
    assert welch(row, logs(DAYS["a1"] + DAYS["a2"] + DAYS["a3"]), logs(DAYS["b1"]))
    assert (row["unit"], row["baseline_repeats"], row["candidate_repeats"]) == ("repeat", 8, 3)


def test_a_list_of_one_session_is_that_session(days):
    assert compared(days, ["a1"], ["b1"]) == compared(days, "a1", "b1")


def test_what_differs_between_sessions_makes_the_interval_wider(days):
    by_session, by_repeat = compared(days, *UNEQUAL), compared(days, UNEQUAL[0], ["b2"])
    assert by_session["ratio_hi"] / by_session["ratio_lo"] > by_repeat["ratio_hi"] / by_repeat["ratio_lo"]


def test_a_session_without_an_ok_repeat_of_a_case_is_no_unit(results, read_back):
    oom = {(2, repeat): "oom" for repeat in range(3)}
    for name, step_ms, statuses in (("a", 10.0, {}), ("b", 9.0, {}), ("c", 5.0, oom)):
        cases = [Case(name="ddp", step_ms={2: step_ms}, statuses=statuses)]
        make_session(results, cases, session_id=name)
    row = compared(read_back(), ["a", "b"], ["b", "c"])
    assert (row["unit"], row["candidate_sessions"], row["candidate_repeats"]) == ("repeat", 1, 3)
    assert row["candidate_throughput"] == pytest.approx(64 / 9e-3)


SETTINGS = [
    Case(name="off", step_ms={1: 20.0, 2: [10.0, 10.1, 10.2]}),
    Case(name="on", step_ms={1: 21.0, 2: [9.0, 9.2, 9.1], 4: 5.0}, strategy="fsdp"),
    Case(name="other", step_ms={2: 3.0}, workload="mnist_cnn"),
]


@pytest.fixture
def settings(measure):
    return measure(*SETTINGS, session_id="s")


def test_cases_of_a_session_are_compared_at_the_placements_that_both_ran(settings):
    one, two = settings("FROM compare_cases('s', 'off', 'on') ORDER BY workers")
    assert (one["placement"], one["verdict"]) == ("1x1", "slower")
    assert welch(two, logs([10.0, 10.1, 10.2]), logs([9.0, 9.2, 9.1]))
    assert (two["baseline_case"], two["case_name"], two["strategy"]) == ("off", "on", "fsdp")


def test_cases_of_different_workloads_are_not_compared(settings):
    assert settings("FROM compare_cases('s', 'off', 'other')") == []


def test_cases_and_sessions_have_the_same_columns(settings):
    (row,) = settings("FROM compare_cases('s', 'on', 'on') WHERE workers = 4")
    assert row == next(row for row in settings("FROM compare('s', 's')") if row["workers"] == 4)


def rewrite(folder, change):
    """Every run.json of a session with its fingerprint changed."""
    for path in folder.glob("*/run.json"):
        run = json.loads(path.read_text())
        run["fingerprint"] = change(run["fingerprint"])
        path.write_text(json.dumps(run))


def differences(results, read_back, *changes):
    for name, change in zip("ab", changes, strict=True):
        folder = make_session(results, [Case(name="ddp", step_ms={2: 10.0})], session_id=name)
        rewrite(folder, change)
    found = compared(read_back(), "a", "b")["fingerprint_diff"]
    return None if found is None else json.loads(found)


def test_alike_fingerprints_have_no_difference(results, read_back):
    assert differences(results, read_back, dict, dict) == []


def test_a_difference_names_the_fact_and_the_value_of_either_side(results, read_back):
    assert differences(
        results,
        read_back,
        lambda facts: {**facts, "content of my.py": "0a"},
        lambda facts: {**facts, "torch": "2.16.0", "it's $.new": "x"},
    ) == [
        {"key": "content of my.py", "class": "worth_knowing", "baseline": "0a", "candidate": None},
        {"key": "it's $.new", "class": "worth_knowing", "baseline": None, "candidate": "x"},
        {"key": "torch", "class": "must_equal", "baseline": "2.15.0", "candidate": "2.16.0"},
    ]


def test_where_a_side_has_no_fingerprint_nothing_is_known(results, read_back):
    assert differences(results, read_back, dict, lambda _facts: {}) is None


def test_several_values_of_a_side_are_listed(results, read_back):
    for name, torch in (("a", "2.15.0"), ("b", "2.15.0"), ("c", "2.14.0")):
        folder = make_session(results, [Case(name="ddp", step_ms={2: 10.0})], session_id=name)
        rewrite(folder, lambda facts, torch=torch: {**facts, "torch": torch})
    found = compared(read_back(), ["a"], ["b", "c"])["fingerprint_diff"]
    assert json.loads(found) == [
        {"key": "torch", "class": "must_equal", "baseline": "2.15.0", "candidate": "2.14.0, 2.15.0"}
    ]


def test_another_number_of_threads_per_rank_is_a_difference(results, read_back):
    for name, threads in (("a", 4), ("b", 2)):
        make_session(
            results, [Case(name="ddp", step_ms={2: 10.0 / threads}, threads=threads)], session_id=name
        )
    found = compared(read_back(), "a", "b")["fingerprint_diff"]
    assert json.loads(found) == [{"key": "threads", "class": "must_equal", "baseline": "4", "candidate": "2"}]


@pytest.mark.parametrize(
    ("change", "keys"),
    [({"repeats": 5}, []), ({"batch": 128}, ["settings"]), ({"precision": "bf16"}, ["settings"])],
)
def test_settings_of_a_case_are_alike_whatever_their_repeats_and_other_cases(
    results, read_back, change, keys
):
    case = Case(name="ddp", step_ms={2: 10.0})
    make_session(results, [case, Case(name="other", step_ms={1: 9.0})], session_id="a")
    make_session(results, [dataclasses.replace(case, **change)], session_id="b")
    found = compared(read_back(), "a", "b")["fingerprint_diff"]
    assert [one["key"] for one in json.loads(found) if one["class"] == "must_equal"] == keys


def test_two_cases_of_a_session_differ_in_settings_by_intent(results, read_back):
    cases = [Case(name="off", step_ms={2: 10.0}), Case(name="on", step_ms={2: 9.0}, precision="bf16")]
    make_session(results, cases, session_id="a")
    asked = read_back()
    (row,) = asked("FROM compare_cases('a', 'off', 'on')")
    assert json.loads(row["fingerprint_diff"]) == []
    assert asked("FROM fingerprint WHERE differs") == []
