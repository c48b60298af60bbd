"""Differences between two sessions, and how the page that compares them names them."""

from __future__ import annotations

import functools
import html
import json
import re

import pytest

from analysis.compare import wording
from analysis.compare.comparison import compare
from analysis.database import connections
from analysis.report import write
from tests.factory import make_session
from tests.unit.report.conftest import comparison
from tests.unit.report.test_compare_page import case, plain, verdicts


def trained(workload):
    return [case("ddp", {1: 20.0, 2: 10.0}, workload=workload)]


PAIRS = {
    "settings": (
        [case(name, {1: 20.0}, batch=batch) for name, batch in (("a", 64), ("b", 64), ("c", 32))],
        [case(name, {1: 20.0}, batch=128, precision="bf16") for name in "abc"],
    ),
    "threads": tuple([case(name, {1: 20.0}, threads=n) for name in "ab"] for n in (4, 2)),
    "times": ([case("ddp", {1: 20.0})], [case("ddp", {1: 2.0}, losses=(3.0, 1.0))]),
    "repeats": (
        [case("ddp", {1: 20.0, 2: 10.0}, repeats=3), case("more", {1: 20.0})],
        [case("ddp", {1: 20.0}, repeats=5)],
    ),
    "warmed": (
        [case("ddp", {1: 20.0}, warmup=5, repeats=3)],
        [case("ddp", {1: 20.0}, warmup=9, repeats=4)],
    ),
    "scaling": ([case("ddp", {1: 20.0, 2: 10.0})], [case("ddp", {1: 5.0, 2: 5.0}, scaling="weak")]),
    "workloads": (trained("spiral_mlp"), trained("ddpm_unet")),
}
"""Cases of two sessions."""


def unknown(run):
    del run["fingerprint"]["training_code"]
    run["fingerprint"]["nodes"] = "node-z"  # worth knowing, no more


def widen(run):
    run["fingerprint"] |= {"content of my_model.py": "2222", "content of parts/net.py": "4444"}
    run["outcome"]["parameters"] = 9_999


def recode(run):
    run["fingerprint"]["training_code"] = "fedcba9876543210"


USER_FILE = {
    "moved": lambda run: None,
    "unknown": unknown,
    "widened": widen,
    "recoded": recode,
    "recommitted": recode,
}
"""Pairs of sessions of a user's own file in different folders: what is changed in every run of the second."""


def write_sessions(results):
    """All pairs, each of a suite of its name: its sessions are `NAME-a` and `NAME-b`."""
    for name, pair in PAIRS.items():
        for side, cases in zip("ab", pair, strict=True):
            make_session(results, cases, session_id=f"{name}-{side}", suite=name)
    for name, change in USER_FILE.items():
        for side in "ab":
            own = trained(f"/home/{side}/my_model.py:TinyLm")
            commit = 40 * side + (", changed" if side == "b" else "")
            facts = {"user_commit": commit} | ({"commit": 12 * side} if name == "recommitted" else {})
            of = {"session_id": f"{name}-{side}", "suite": name, "environment": {"0": facts}}
            for path in make_session(results, own, **of).glob("*/run.json"):
                run = json.loads(path.read_text("utf-8"))
                run["fingerprint"] |= {"content of my_model.py": "1111", "content of parts/net.py": "3333"}
                run["fingerprint"] |= {"content of same.py": "5555"}
                if side == "b":
                    change(run)
                path.write_text(json.dumps(run), "utf-8")


@pytest.fixture(scope="module")
def results(shared):
    return shared


@pytest.fixture(scope="module")
def page_of(results):
    """`page_of(name)`: the page that compares the two sessions of a pair."""
    return functools.cache(lambda name: comparison(results, [f"{name}-a", f"{name}-b"]))


def warning_of(page):
    """The words above the first ratio."""
    _, _, said = page.partition('class="verdict"')[0].partition("These sessions differ.")
    return html.unescape(re.sub(r"</?bdi>", "", said))


def test_the_settings_that_change_what_a_ratio_means_are_named_with_their_values(page_of):
    said = warning_of(page_of("settings"))
    assert "global batch of a, b: A 64 · B 128; other values in 1 more case" in said
    assert "precision of all cases in common: A fp32 · B bf16" in said


def test_other_threads_per_rank_are_named_once(page_of):
    said = warning_of(page_of("threads"))
    assert said.count("threads") == 1
    assert "threads of all cases in common: A 4 · B 2" in said


def test_sessions_of_one_suite_get_no_warning_however_their_times_differ(page_of):
    assert warning_of(page_of("times")) == ""


def test_sessions_that_differ_in_repeats_and_in_other_cases_get_no_warning(page_of):
    assert warning_of(page_of("repeats")) == ""


def test_a_case_that_scales_otherwise_is_not_in_common_and_the_reason_is_said(page_of):
    page = page_of("scaling")
    assert "scaling of ddp: A strong · B weak" in warning_of(page)
    assert "faster" not in verdicts(page)[0]
    alone = plain(page, "alone", "coverage")
    assert "A has case ddp (strong scaling)" in alone
    assert "not the same case, scaling of ddp : A strong · B weak" in alone


def test_cases_of_one_name_and_different_workloads_are_not_drawn_over_each_other(page_of):
    assert "<figure" not in page_of("workloads")


def test_a_setting_of_the_measurement_is_named_with_its_values(page_of):
    """The fingerprints of these sessions differ, so every setting that differs is named except the repeats."""
    said = warning_of(page_of("warmed"))
    assert "measure.warmup of all cases in common: A 5 · B 9" in said
    assert "repeats" not in said


def test_cases_of_one_name_and_different_workloads_have_nothing_in_common(page_of):
    page = page_of("workloads")
    assert "There is no setting of the cases in common." in plain(page, "settings", "environment")
    alone = plain(page, "alone", "coverage")
    assert "A has case ddp (spiral_mlp)" in alone
    assert "B has case ddp (ddpm_unet)" in alone


def test_a_users_own_workload_is_the_same_in_any_folder_which_no_page_shows(results, tmp_path):
    pages = write(results, ["moved-a", "moved-b"], tmp_path, compare=True)
    page = pages[-2].read_text("utf-8")
    assert "all 2 rows are the same" in verdicts(page)[0]
    assert "These sessions differ" not in page
    assert "my_model.py:TinyLm" in page
    for path in pages:
        assert "/home/" not in path.read_text("utf-8")


def test_what_is_not_known_of_one_session_makes_it_not_unlike(page_of):
    assert "These sessions differ" not in page_of("unknown")


def test_a_users_workload_that_was_changed_in_place_is_said_to_be_unlike(page_of):
    said = html.unescape(re.sub(r"<[^>]+>", "", page_of("widened").partition('class="verdict"')[0]))
    assert f"code of my_model.py, parts/net.py (commit: A {12 * 'a'} · B {12 * 'b'}, changed)" in said
    assert "same.py" not in said
    assert "parameters of all cases in common: A 2,804 · B 9,999" in said


def test_other_training_code_is_named_by_its_commit_and_by_short_digests_only_without_one(page_of):
    assert f"training code: commit: A {12 * 'a'} · B {12 * 'b'}" in warning_of(page_of("recommitted"))
    assert "training code, digest: A 01234567 · B fedcba98" in warning_of(page_of("recoded"))
    for page in map(page_of, ("recommitted", "recoded")):
        assert "fedcba9876543210" not in re.sub(r"<script.*?</script>", "", page, flags=re.S)


def test_the_terminal_names_other_training_code_by_its_commit(results):
    with connections.reader(results) as connection:
        for pair, said in (
            ("recommitted", f"the training code differs: commit {12 * 'a'} → {12 * 'b'}"),
            ("recoded", "training code: 01234567 → fedcba98"),
        ):
            found = compare(connection, f"{pair}-a", f"{pair}-b", margin=0.02, max_regression=0.05)
            assert said in [words for _, words in wording.differences(found)]
