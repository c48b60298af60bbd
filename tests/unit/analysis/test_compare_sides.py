"""compare with several sessions a side, compare_cases within a session, and what differs in the fingerprints."""

from __future__ import annotations

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


def ddp(step_ms=10.0, **more):
    return Case(name="ddp", step_ms={2: step_ms}, **more)


SESSIONS = {
    **{name: [ddp(step_ms, repeats=len(step_ms))] for name, step_ms in DAYS.items()},
    "slow": [ddp()],
    "fast": [ddp(9.0)],
    "oom": [ddp(5.0, statuses={(2, repeat): "oom" for repeat in range(3)})],
    "settings": [
        Case(name="off", step_ms={1: 20.0, 2: [10.0, 10.1, 10.2]}),
        Case(name="on", step_ms={1: 21.0, 2: [9.0, 9.2, 9.1], 4: 5.0}, strategy="fsdp"),
        Case(name="other", step_ms={2: 3.0}, workload="mnist_cnn"),
    ],
    "precision": [Case(name="off", step_ms={2: 10.0}), Case(name="on", step_ms={2: 9.0}, precision="bf16")],
    **{name: [ddp()] for name in ("plain", "alike", "unknown", "custom_file", "newer_torch", "older_torch")},
    **{f"threads{n}": [ddp(10.0 / n, threads=n)] for n in (4, 2)},
    "with_other": [ddp(), Case(name="other", step_ms={1: 9.0})],
    "repeats": [ddp(repeats=5)],
    "batch": [ddp(batch=128)],
    "bf16": [ddp(precision="bf16")],
}
CHANGES = {
    "unknown": lambda _facts: {},
    "custom_file": lambda facts: {**facts, "content of my.py": "0a"},
    "newer_torch": lambda facts: {**facts, "torch": "2.16.0", "it's $.new": "x"},
    "older_torch": lambda facts: {**facts, "torch": "2.14.0"},
}
"""Session -> change of its fingerprints."""


@pytest.fixture(scope="module")
def ask(tmp_path_factory, read_once):
    """A function that queries all of SESSIONS."""
    results = tmp_path_factory.mktemp("sides")
    for name, cases in SESSIONS.items():
        folder = make_session(results, cases, session_id=name)
        if name in CHANGES:
            rewrite(folder, CHANGES[name])
    return read_once(results)


def rewrite(folder, change):
    """Every run.json of a session with its fingerprint changed."""
    for path in folder.glob("*/run.json"):
        run = json.loads(path.read_text())
        run["fingerprint"] = change(run["fingerprint"])
        path.write_text(json.dumps(run))


def logs(step_ms):
    return np.log(64 / (np.array(step_ms) / 1e3))


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


def test_where_both_sides_have_several_sessions_the_session_is_the_unit(ask):
    row = compared(ask, *UNEQUAL)
    old, new = ([logs(DAYS[name]).mean() for name in side] for side in UNEQUAL)
    assert welch(row, old, new)
    assert (row["unit"], row["baseline_sessions"], row["candidate_sessions"]) == ("session", 3, 2)
    assert (row["baseline_repeats"], row["candidate_repeats"]) == (8, 7)
    assert row["baseline_throughput"] == pytest.approx(np.exp(np.mean(old)))


def test_against_a_single_session_the_repeat_is_the_unit(ask):
    row = compared(ask, ["a1", "a2", "a3"], ["b1"])
    assert welch(row, logs(DAYS["a1"] + DAYS["a2"] + DAYS["a3"]), logs(DAYS["b1"]))
    assert (row["unit"], row["baseline_repeats"], row["candidate_repeats"]) == ("repeat", 8, 3)


def test_a_list_of_one_session_is_that_session(ask):
    assert compared(ask, ["a1"], ["b1"]) == compared(ask, "a1", "b1")


def test_what_differs_between_sessions_makes_the_interval_wider(ask):
    by_session, by_repeat = compared(ask, *UNEQUAL), compared(ask, UNEQUAL[0], ["b2"])
    assert by_session["ratio_hi"] / by_session["ratio_lo"] > by_repeat["ratio_hi"] / by_repeat["ratio_lo"]


def test_a_session_without_an_ok_repeat_of_a_case_is_no_unit(ask):
    row = compared(ask, ["slow", "fast"], ["fast", "oom"])
    assert (row["unit"], row["candidate_sessions"], row["candidate_repeats"]) == ("repeat", 1, 3)
    assert row["candidate_throughput"] == pytest.approx(64 / 9e-3)


def test_cases_of_a_session_are_compared_at_the_placements_that_both_ran(ask):
    one, two = ask("FROM compare_cases('settings', 'off', 'on') ORDER BY workers")
    assert (one["placement"], one["verdict"]) == ("1x1", "slower")
    test = stats.ttest_rel(logs([9.0, 9.2, 9.1]), logs([10.0, 10.1, 10.2]))
    low, high = np.exp(test.confidence_interval(0.95))
    assert (two["unit"], two["blocks"]) == ("repeat", 3)
    assert (two["ratio_lo"], two["ratio_hi"]) == pytest.approx((low, high), rel=1e-9)
    assert two["p_value"] == pytest.approx(test.pvalue, rel=1e-6)
    assert (two["baseline_case"], two["case_name"], two["strategy"]) == ("off", "on", "fsdp")


def test_cases_of_different_workloads_are_not_compared(ask):
    assert ask("FROM compare_cases('settings', 'off', 'other')") == []


def test_cases_and_sessions_have_the_same_columns(ask):
    (row,) = ask("FROM compare_cases('settings', 'on', 'on') WHERE workers = 4")
    assert row == next(row for row in ask("FROM compare('settings', 'settings')") if row["workers"] == 4)


def differences(ask, baseline, candidate):
    found = compared(ask, baseline, candidate)["fingerprint_diff"]
    return None if found is None else json.loads(found)


def test_alike_fingerprints_have_no_difference(ask):
    assert differences(ask, "plain", "alike") == []


def test_a_difference_names_the_fact_and_the_value_of_either_side(ask):
    assert differences(ask, "custom_file", "newer_torch") == [
        {"key": "content of my.py", "class": "worth_knowing", "baseline": "0a", "candidate": None},
        {"key": "it's $.new", "class": "worth_knowing", "baseline": None, "candidate": "x"},
        {"key": "torch", "class": "must_equal", "baseline": "2.15.0", "candidate": "2.16.0"},
    ]


def test_where_a_side_has_no_fingerprint_nothing_is_known(ask):
    assert differences(ask, "plain", "unknown") is None


def test_several_values_of_a_side_are_listed(ask):
    assert differences(ask, ["plain"], ["alike", "older_torch"]) == [
        {"key": "torch", "class": "must_equal", "baseline": "2.15.0", "candidate": "2.14.0, 2.15.0"}
    ]


def test_another_number_of_threads_per_rank_is_a_difference(ask):
    assert differences(ask, "threads4", "threads2") == [
        {"key": "threads", "class": "must_equal", "baseline": "4", "candidate": "2"}
    ]


@pytest.mark.parametrize(
    ("change", "keys"), [("repeats", []), ("batch", ["settings"]), ("bf16", ["settings"])]
)
def test_settings_of_a_case_are_alike_whatever_their_repeats_and_other_cases(ask, change, keys):
    found = differences(ask, "with_other", change)
    assert [one["key"] for one in found if one["class"] == "must_equal"] == keys


def test_two_cases_of_a_session_differ_in_settings_by_intent(ask):
    (row,) = ask("FROM compare_cases('precision', 'off', 'on')")
    assert json.loads(row["fingerprint_diff"]) == []
    assert ask("FROM fingerprint WHERE differs AND session_id = 'precision'") == []
