"""Differences between two sessions, and how the page that compares them names them."""

from __future__ import annotations

import html
import json
import re

import pytest

from analysis.report import write
from tests.factory import make_session
from tests.unit.analysis.conftest import load_first
from tests.unit.report.conftest import comparison
from tests.unit.report.test_compare_page import STEPS, case, plain, verdicts


@pytest.fixture
def warning_of(tmp_path):
    """`warning_of(cases, cases)`: the words above the first ratio, and the page, of two sessions."""

    def read(old, new):
        for name, cases in (("a", old), ("b", new)):
            make_session(tmp_path, cases, session_id=name)
        load_first(tmp_path)
        page = comparison(tmp_path, ["a", "b"])
        _, _, said = page.partition('class="verdict"')[0].partition("These sessions differ.")
        return html.unescape(re.sub(r"</?bdi>", "", said)), page

    return read


def test_the_settings_that_change_what_a_ratio_means_are_named_with_their_values(warning_of):
    old = [case(name, {1: 20.0}, batch=batch) for name, batch in (("a", 64), ("b", 64), ("c", 32))]
    new = [case(name, {1: 20.0}, batch=128, precision="bf16") for name in "abc"]
    said, _ = warning_of(old, new)
    assert '<a href="#settings">settings</a> of cases in common' in said
    assert "global batch of a, b: A 64 · B 128; other values in 1 more case" in said
    assert "precision of all cases in common: A fp32 · B bf16" in said


def test_other_threads_per_rank_are_named_once(warning_of):
    said, _ = warning_of(*([case(name, {1: 20.0}, threads=n) for name in "ab"] for n in (4, 2)))
    assert said.count("threads") == 1
    assert "threads of all cases in common: A 4 · B 2" in said


def test_sessions_of_one_suite_get_no_warning_however_their_times_differ(warning_of):
    said, _ = warning_of([case("ddp", {1: 20.0})], [case("ddp", {1: 2.0}, losses=(3.0, 1.0))])
    assert said == ""


def test_sessions_that_differ_in_repeats_and_in_other_cases_get_no_warning(warning_of):
    old = [case("ddp", {1: 20.0, 2: 10.0}, repeats=3), case("more", {1: 20.0})]
    said, _ = warning_of(old, [case("ddp", {1: 20.0}, repeats=5)])
    assert said == ""


def test_a_case_that_scales_otherwise_is_not_in_common_and_the_reason_is_said(warning_of):
    said, page = warning_of(
        [case("ddp", {1: 20.0, 2: 10.0})], [case("ddp", {1: 5.0, 2: 5.0}, scaling="weak")]
    )
    assert "scaling of ddp: A strong · B weak" in said
    assert "faster" not in verdicts(page)[0]
    alone = plain(page, "alone", "coverage")
    assert "A has case ddp (strong scaling)" in alone
    assert "not the same case, scaling of ddp : A strong · B weak" in alone


@pytest.fixture(scope="module")
def other_workload(tmp_path_factory):
    """The page and the rows of `compare` of sessions whose case `ddp` trains different workloads."""
    results = tmp_path_factory.mktemp("workloads")
    for session, workload in (("a", "spiral_mlp"), ("b", "ddpm_unet")):
        make_session(results, [case("ddp", {1: 20.0, 2: STEPS[0]}, workload=workload)], session_id=session)
    load_first(results)
    return comparison(results, ["a", "b"])


def test_cases_of_one_name_and_different_workloads_are_not_drawn_over_each_other(other_workload):
    payloads = re.findall(r'<figure.*?id="(\w+)".*?json">(.*?)</script>', other_workload, re.S)
    panels = {name: json.loads(payload)["columns"]["panel"]["values"] for name, payload in payloads}
    assert panels["throughput"] == ["ddp (spiral_mlp)", "ddp (ddpm_unet)"]
    assert panels["training_loss"] == ["ddp (spiral_mlp) 1x2", "ddp (ddpm_unet) 1x2"]


def test_cases_of_one_name_and_different_workloads_have_nothing_in_common(other_workload):
    assert "There is no setting of the cases in common." in plain(other_workload, "settings", "environment")
    alone = plain(other_workload, "alone", "coverage")
    assert "A has case ddp (spiral_mlp)" in alone
    assert "B has case ddp (ddpm_unet)" in alone


@pytest.fixture
def of_own_files(tmp_path):
    """`of_own_files(change)`: a results folder with two sessions of one file in different folders; `change` edits
    facts of a run of the second."""

    def read(change):
        for name in ("a", "b"):
            own = case("ddp", {1: 20.0, 2: 10.0}, workload=f"/home/{name}/my_model.py:TinyLm")
            folder = make_session(tmp_path, [own], session_id=name)
            for path in folder.glob("*/run.json"):
                run = json.loads(path.read_text("utf-8"))
                run["fingerprint"] |= {"content of my_model.py": "1111"}
                if name == "b":
                    change(run)
                path.write_text(json.dumps(run), "utf-8")
        assert load_first(tmp_path).problems == ()
        return tmp_path

    return read


def test_a_users_own_workload_is_the_same_in_any_folder_which_no_page_shows(of_own_files):
    results = of_own_files(lambda run: None)
    pages = write(results, ["a", "b"], results / "out", compare=True)
    page = pages[-2].read_text("utf-8")
    assert "so are all 2 rows" in verdicts(page)[0]
    assert "These sessions differ" not in page
    assert "my_model.py:TinyLm" in page
    for path in pages:
        assert "/home/" not in path.read_text("utf-8")


def test_what_is_not_known_of_one_session_makes_it_not_unlike(of_own_files):
    def older(run):
        del run["fingerprint"]["training_code"]
        run["fingerprint"]["nodes"] = "node-z"  # worth knowing, no more

    assert "These sessions differ" not in comparison(of_own_files(older), ["a", "b"])


def test_a_users_workload_that_was_changed_in_place_is_said_to_be_unlike(of_own_files):
    def widen(run):
        run["fingerprint"]["content of my_model.py"] = "2222"
        run["outcome"]["parameters"] = 9_999

    page = comparison(of_own_files(widen), ["a", "b"])
    said = html.unescape(re.sub(r"<[^>]+>", "", page.partition('class="verdict"')[0]))
    assert "content of my_model.py: A 1111 · B 2222" in said
    assert "parameters of all cases in common: A 2,804 · B 9,999" in said
