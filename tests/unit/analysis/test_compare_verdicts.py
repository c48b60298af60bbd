"""Verdicts over all rows of a comparison, imported with `bench import`: terminal, SQL, JSON and page say the same."""

from __future__ import annotations

import html
import json
import math
import re
from importlib import import_module

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from analysis.database import connections
from analysis.loading.load import load
from bench import cli
from tests.unit.analysis.conftest import fetch
from tests.unit.report.conftest import comparison

RESIDUALS = np.array([-1.2, -0.4, 0.1, 0.5, 1.0])
RESIDUALS = RESIDUALS / RESIDUALS.std(ddof=1)
"""Five repeats with a mean of 0 and a standard deviation of 1."""
ROWS = [(f"c{case}", size) for case in range(6) for size in (1, 2)]
UNEVEN = [0.001, -0.002, 0.003, -0.001, 0.002, -0.003, 0.0, 0.001, -0.001, 0.002, -0.002, 0.003]
"""ln(ratio) of twelve rows that differ by chance."""


def trainings(logs, noise, rows=ROWS):
    """Times of whole trainings as CSV. `logs`: ln(throughput) of each row above that of the baseline."""
    lines = ["case,scaling,world_size,repeat,seconds,examples"]
    for (case, size), log in zip(rows, logs, strict=True):
        for repeat, residual in enumerate(RESIDUALS):
            seconds = 100 / size * math.exp(noise * residual - log)
            lines.append(f"{case},strong,{size},{repeat},{seconds:.6f},100000")
    return "\n".join(lines)


def shifted(by, **others):
    """The uneven rows moved by a share; `others`: by how much more a row of this name moved."""
    return [
        log + math.log1p(by) + math.log1p(others.get(f"{case}_{size}", 0))
        for (case, size), log in zip(ROWS, UNEVEN, strict=True)
    ]


SESSIONS = {
    "quiet": trainings([0] * 12, 0.004),
    "slower": trainings(shifted(-0.03), 0.004),
    "slower_and_one": trainings(shifted(-0.03, c3_2=-0.1), 0.004),
    "slower_but_one": trainings(shifted(-0.03, c3_2=0.1), 0.004),
    "half_slower": trainings([log - 0.03 * (place < 6) for place, log in enumerate(UNEVEN)], 0.004),
    "noisy": trainings([0] * 12, 0.02),
    "one_looks_slower": trainings(shifted(0, c0_2=-0.045), 0.02),
    "two_look_slower": trainings(shifted(0, c0_2=-0.04, c1_2=-0.04, c2_2=0.04), 0.02),
    "some": trainings(shifted(0, c0_2=-0.045, c5_1=-0.08), 0.02),
    "few": trainings([0] * 5, 0.004, ROWS[:5]),
    "few_slower": trainings([math.log(0.97)] * 5, 0.004, ROWS[:5]),
}


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    results = tmp_path_factory.mktemp("verdicts") / "results"
    results.mkdir()
    for name, text in SESSIONS.items():
        (path := results.parent / f"{name}.csv").write_text(text, "utf-8")
        arguments = [str(path), "--suite", "s", "--session", name, "--no-load", "--results", str(results)]
        made = CliRunner().invoke(import_module("bench.cli.import").command, arguments, standalone_mode=False)
        assert made.exception is None
    assert load(results).problems == ()
    return results


@pytest.fixture
def bench_compare(sessions, monkeypatch, capsys):
    """`bench_compare(arguments...)` gives exit code and output."""

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["bench", "compare", *arguments, "--results", str(sessions)])
        code = cli.run_command()
        return code, capsys.readouterr().out.rstrip()

    return run


@pytest.fixture
def rows_of(bench_compare):
    """`rows_of(arguments...)` gives the rows as JSON, by case and placement."""

    def rows(*arguments):
        found = json.loads(bench_compare(*arguments, "--format", "json")[1])["rows"]
        return {(row["case_name"], row["placement"]): row for row in found}

    return rows


def by_terminal(output):
    """Case and placement -> verdict."""
    lines = [re.split(r" {2,}", line) for line in output.splitlines() if re.match(r"c\d ", line)]
    return {(line[0], line[1]): line[-1] for line in lines}


def by_page(page):
    table = page.partition('id="ratios"')[2].partition('id="charts"')[0].partition("<tbody>")[2]
    rows = [re.findall(r"<t[hd].*?</t[hd]>", row, re.S) for row in re.findall(r"<tr.*?</tr>", table, re.S)]
    cells = [[" ".join(html.unescape(re.sub(r"<[^>]+>", "", cell)).split()) for cell in row] for row in rows]
    return {(row[0], row[1]): row[3] for row in cells if len(row) > 3}


PAIRS = [
    ("quiet", "slower", "All 12 rows moved by −3.0 %: something that they share"),
    (
        "quiet",
        "slower_and_one",
        "All 12 rows moved by −3.0 %: something that they share; beyond that, c3 1x2 0.87",
    ),
    (
        "quiet",
        "slower_but_one",
        "11 of 12 rows moved by −3.0 %: something that they share; beyond that, c3 1x2 1.06",
    ),
    ("noisy", "some", "No regression beyond 5 % is certain"),
]


@pytest.mark.parametrize(("baseline", "candidate", "first"), PAIRS)
def test_terminal_sql_json_and_page_agree(bench_compare, sessions, baseline, candidate, first):
    with connections.reader(sessions) as connection:
        found = fetch(connection, f"FROM compare('{baseline}', '{candidate}')")
    sql = {(row["case_name"], row["placement"]): row["verdict_text"] for row in found}
    assert len(sql) == 12
    _, terminal = bench_compare(baseline, candidate)
    as_json = json.loads(bench_compare(baseline, candidate, "--format", "json")[1])
    page = comparison(sessions, [baseline, candidate])
    assert by_terminal(terminal) == sql
    assert by_page(page) == sql
    assert {(row["case_name"], row["placement"]): row["verdict_text"] for row in as_json["rows"]} == sql
    assert as_json["sentence"].startswith(first)
    assert terminal.splitlines()[-1] == as_json["sentence"]
    said = html.unescape(re.search(r'<p class="verdict"><bdi>(.*?)</bdi>', page)[1]).replace("\u00a0", " ")
    if "rows moved" in first:
        assert said.startswith(f"B against A: {first[0].lower()}{first[1:]}")
    counted = "of 12 rows 1 slower, 11 inconclusive (would have seen 7 %), of which one looks slower"
    assert (counted in said) == (counted in as_json["sentence"]) == (candidate == "some")


def test_a_row_that_only_looks_slower_is_neither_counted_nor_coloured(bench_compare, rows_of, sessions):
    rows = rows_of("noisy", "one_looks_slower", "--max-regression", "0%")
    row = rows["c0", "1x2"]
    assert row["ratio_hi"] < 1
    assert row["holm_p"] <= 0.05 < row["p_value_holm"]
    assert (row["verdict"], row["regression"]) == ("not excluded", False)
    assert row["verdict_text"] == "not excluded: one of 12 rows looks slower"
    code, output = bench_compare("noisy", "one_looks_slower", "--max-regression", "0%")
    assert code == 0
    assert output.endswith("of 12 rows 12 inconclusive (would have seen 7 %), of which one looks slower.")
    page = comparison(sessions, ["noisy", "one_looks_slower"])
    assert re.findall(r'class="label (\w+)">(?:<bdi>)?not excluded', page) == ["none"]
    assert "none of 12 rows differs for certain" in page


def test_rows_that_look_slower_and_rows_that_look_faster_are_counted_apart(bench_compare, rows_of):
    rows = rows_of("noisy", "two_look_slower")
    assert rows["c0", "1x2"]["verdict_text"] == "not excluded: 2 of 12 rows look slower"
    assert rows["c2", "1x2"]["verdict_text"] == "not excluded: one of 12 rows looks faster"
    assert bench_compare("noisy", "two_look_slower")[1].endswith(
        ", of which one looks faster and 2 look slower."
    )


@pytest.mark.parametrize(("baseline", "candidate"), [("noisy", "some"), ("quiet", "slower_and_one")])
def test_a_filter_changes_no_verdict(rows_of, sessions, baseline, candidate):
    whole = rows_of(baseline, candidate)
    for case in ("c0", "c3", "c5"):
        chosen = rows_of(f"{baseline}:{case}", f"{candidate}:{case}")
        assert chosen == {key: row for key, row in whole.items() if key[0] == case}
        with connections.reader(sessions) as connection:
            query = f"FROM compare('{baseline}', '{candidate}') WHERE case_name = '{case}' AND workers = 2"
            (row,) = fetch(connection, query)
        assert row["p_value_holm"] == pytest.approx(whole[case, "1x2"]["p_value_holm"], rel=1e-12)
        assert row["verdict_text"] == whole[case, "1x2"]["verdict_text"]


def test_what_all_rows_share_leaves_ratios_and_verdicts_as_they_are(rows_of):
    rows = rows_of("quiet", "slower_and_one")
    assert rows["c3", "1x2"]["ratio"] == pytest.approx(0.97 * 0.9 * math.exp(UNEVEN[7]), rel=1e-5)
    assert [key for key, row in rows.items() if row["differs"]] == [("c3", "1x2")]
    (shared,) = {row["shared_ratio"] for row in rows.values()}
    assert shared == pytest.approx(0.97, abs=1e-3)
    assert {row["verdict"] for row in rows.values()} == {"slower"}


@pytest.mark.parametrize(
    ("baseline", "candidate"), [("quiet", "half_slower"), ("noisy", "some"), ("few", "few_slower")]
)
def test_rows_that_share_nothing_or_are_fewer_than_six_are_not_said_to_move(
    bench_compare, rows_of, baseline, candidate
):
    assert {row["shared_ratio"] for row in rows_of(baseline, candidate).values()} == {None}
    assert "something that they share" not in bench_compare(baseline, candidate)[1]


@pytest.mark.parametrize("margin", [0.001, 0.01, 0.02, 0.05])
def test_the_same_is_two_one_sided_tests_and_comes_after_a_verdict(rows_of, margin):
    for pair in (("noisy", "some"), ("quiet", "half_slower")):
        rows = rows_of(*pair, "--margin", str(margin)).values()
        for row, scale in ((row, 0.02 if pair[0] == "noisy" else 0.004) for row in rows):
            old, new = scale * RESIDUALS, scale * RESIDUALS + math.log(row["ratio"])
            tails = [
                stats.ttest_ind(-new + old.mean(), -old - bound, equal_var=False, alternative=side).pvalue
                for bound, side in ((math.log1p(margin), "greater"), (math.log1p(-margin), "less"))
            ]
            assert row["same_p"] == pytest.approx(max(tails), rel=1e-3)
            if row["verdict"] not in ("faster", "slower"):
                assert (row["verdict"] == "same") == (row["same_p"] <= 0.05)
        said = {row["verdict_text"] for row in rows if row["verdict"] == "same"}
        assert said <= {f"same within {100 * margin:.4g} %"}


def test_what_would_have_been_seen_is_what_the_noncentral_t_finds(rows_of, in_memory):
    grid = [(t, df) for df in (1, 1.5, 2, 4, 8, 60) for t in (2, 4, 16)]
    for t, df in grid:
        (found,) = in_memory.execute("SELECT detectable_effect($1::DOUBLE, $2::DOUBLE)", [t, df]).fetchone()
        assert 0.795 < stats.nct.sf(t, df, found) < 0.85
    se, df = 0.02 * math.sqrt(2 / 5), 8
    for row in rows_of("noisy", "some").values():
        if row["verdict"] == "inconclusive":  # one other row is slower, so Holm's next level is 5 % by 11
            t = stats.t.isf(0.05 / 11 / 2, df)
            effect = t * (1 - 1 / (4 * df)) + stats.norm.ppf(0.8) * math.sqrt(1 + t**2 / (2 * df))
            assert row["change_seen"] == pytest.approx(math.expm1(se * effect), rel=1e-3)


def test_the_interval_of_a_median_is_interpolated_between_order_statistics(in_memory):
    def place(n, level):
        held = {k: 1 - 2 * stats.binom.cdf(k - 1, n, 0.5) for k in range(1, n // 2 + 2)}
        k = max(k for k in held if held[k] >= level)
        share = (held[k] - level) / (held[k] - held[k + 1])
        return k, (n - k) * share / (k + (n - 2 * k) * share)

    values = sorted(np.random.default_rng(46).normal(size=101))
    for n, level in [(6, 0.95), (8, 0.99), (12, 0.99), (13, 0.99), (24, 0.95), (101, 0.99)]:
        k, weight = place(n, level)
        x = values[:n]
        wanted = [
            (1 - weight) * x[end] + weight * x[inner] for end, inner in ((k - 1, k), (n - k, n - k - 1))
        ]
        (found,) = in_memory.execute(
            "SELECT median_ends($1::DOUBLE[], $2)", [list(map(float, x)), level]
        ).fetchone()
        assert [found["lo"], found["hi"]] == pytest.approx(wanted, rel=1e-9)
    too_few = in_memory.execute("SELECT median_ends([1.0, 2, 3, 4, 5, 7]::DOUBLE[], 0.99)").fetchone()[0]
    assert too_few == {"lo": 1, "hi": 7}
