"""Results of compare other than the ratio: probabilities and Holm, compared with scipy; how often the gate fails."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from analysis.loading.derive import derive_and_diagnose
from benchmarks.coverage_sessions import lines
from tests.factory import Case, make_session
from tests.unit.analysis.conftest import asks

OLD = [10.0, 10.4, 10.1, 10.9]
NEW = [10.9, 11.3, 10.8, 11.0]


def sides(baseline, candidate):
    """Writes two sessions; each is step times by case."""

    def write(results, name):
        for letter, side in (("a", baseline), ("b", candidate)):
            cases = [
                Case(name=case, step_ms={2: step_ms}, repeats=len(step_ms)) for case, step_ms in side.items()
            ]
            make_session(results, cases, session_id=name + letter)

    return write


@pytest.fixture
def compare(ask):
    """`compare(more)` gives the macro's rows; `more` are further arguments."""
    old, new = (row["session_id"] for row in ask("FROM sessions ORDER BY session_id"))
    return lambda more="": ask(f"FROM compare('{old}', '{new}'{more}) ORDER BY case_name")


slower = asks(sides({"ddp": OLD}, {"ddp": NEW}))


def logs(step_ms):
    return np.log(64 / (np.array(step_ms) / 1e3))


def holm(probabilities):
    """Holm 1979, step by step."""
    order = np.argsort(probabilities)
    adjusted = [0.0] * len(order)
    largest = 0.0
    for step, place in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - step) * probabilities[place]))
        adjusted[place] = largest
    return adjusted


def test_the_tail_of_students_t_is_that_of_scipy(in_memory):
    grid = list(
        itertools.product([0, 0.01, 0.5, 1, 2.5, 7, 40], [1, 1.2, 1.9, 2, 3.3, 4, 7.7, 12, 45, 300, 1e5])
    )
    values = ", ".join(f"({t}, {df})" for t, df in grid)
    found = in_memory.execute(
        f"SELECT t_tail(x, wanted), t_tail(-x, wanted) FROM (VALUES {values}) AS grid(x, wanted)"
    ).fetchall()
    expected = [stats.t.sf(t, df) for t, df in grid]
    assert [above for above, _ in found] == pytest.approx(expected, rel=1e-9, abs=1e-200)
    assert [above for _, above in found] == pytest.approx(expected, rel=1e-9, abs=1e-200)


def test_the_quantile_of_students_t_is_that_of_scipy(in_memory):
    grid = list(itertools.product([0.05, 0.017, 0.0127, 1e-3, 1e-4], [1, 1.4, 2, 3.3, 9, 60, 1000]))
    values = ", ".join(f"({p}, {df}::DOUBLE)" for p, df in grid)
    found = in_memory.execute(f"SELECT t_quantile_at(p, df) FROM (VALUES {values}) AS grid(p, df)").fetchall()
    assert [t for (t,) in found] == pytest.approx([stats.t.isf(p / 2, df) for p, df in grid], rel=1e-9)


def test_the_tail_of_f_is_that_of_scipy(in_memory):
    grid = list(itertools.product([0, 1e-6, 0.1, 1, 4.5, 30, 1000], [1, 2, 5, 49], [1, 2, 3, 8, 60, 500]))
    values = ", ".join(f"({x}::DOUBLE, {k}, {m})" for x, k, m in grid)
    found = in_memory.execute(f"SELECT f_tail(x, k, m) FROM (VALUES {values}) AS grid(x, k, m)").fetchall()
    expected = [stats.f.sf(x, k, m) for x, k, m in grid]
    assert [tail for (tail,) in found] == pytest.approx(expected, rel=1e-9, abs=1e-200)


@slower
def test_the_probabilities_are_welchs(compare):
    (row,) = compare()
    both = stats.ttest_ind(logs(NEW), logs(OLD), equal_var=False)
    below = stats.ttest_ind(logs(NEW), logs(OLD) + np.log(0.95), equal_var=False, alternative="less")
    assert row["p_value"] == pytest.approx(both.pvalue, rel=1e-7)
    assert row["regression_p"] == pytest.approx(below.pvalue, rel=1e-7)
    assert row["verdict"] == "slower"
    assert row["regression"] is False  # slower for certain, but not by 5 % for certain


@slower
@pytest.mark.parametrize("limit", [0.02, 0.05, 0.3])
def test_another_limit_asks_another_question(compare, limit):
    (row,) = compare(f", max_regression := {limit}")
    below = stats.ttest_ind(logs(NEW), logs(OLD) + np.log(1 - limit), equal_var=False, alternative="less")
    assert row["regression_p"] == pytest.approx(below.pvalue, rel=1e-7)


@pytest.mark.parametrize(
    ("ask", "p_value", "regression_p"),
    [
        (sides({"ddp": [10.0] * 3}, {"ddp": [new] * 4}), p_value, regression_p)
        for new, p_value, regression_p in [(10.0, 1, 1), (10.2, 0, 1), (11.0, 0, 0)]
    ],
    indirect=["ask"],
)
def test_without_any_variance_a_difference_is_certain(compare, p_value, regression_p):
    (row,) = compare()
    assert (row["p_value"], row["regression_p"], row["regression"]) == (
        p_value,
        regression_p,
        regression_p == 0,
    )


FOUR = {
    "one": ([10.0, 10.2, 10.4, 9.9], [11.9, 12.0, 12.1, 11.8]),
    "two": ([10.0, 10.2, 10.4, 9.9], [10.9, 11.2, 11.5, 10.8]),
    "three": ([10.0, 10.2, 10.4, 9.9], [10.1, 10.3, 10.5, 10.0]),
    "four": ([10.0, 10.2, 10.4, 9.9], [10.9, 11.2, 11.5, 10.8]),
}


@asks(sides(*({name: pair[side] for name, pair in FOUR.items()} for side in (0, 1))))
def test_probabilities_are_adjusted_over_rows_after_holm_and_equal_ones_alike(compare):
    rows = compare()
    for raw, adjusted in (("p_value", "p_value_holm"), ("regression_p", "holm_p")):
        found = [row[raw] for row in rows]
        assert len(set(found)) == 3
        assert [row[adjusted] for row in rows] == pytest.approx(holm(found), rel=1e-12)
    by_name = {row["case_name"]: row for row in rows}
    assert by_name["two"]["p_value_holm"] == by_name["four"]["p_value_holm"]


@slower
def test_a_row_that_stands_alone_is_not_adjusted(compare):
    (row,) = compare()
    assert (row["p_value_holm"], row["holm_p"]) == (row["p_value"], row["regression_p"])


@asks(sides({"ddp": OLD, "lone": [10.0]}, {"ddp": NEW, "lone": [20.0]}))
def test_rows_without_an_interval_are_no_tests_and_do_not_count(compare):
    rows = compare()
    assert rows[0]["holm_p"] == rows[0]["regression_p"]
    assert [rows[1][name] for name in ("p_value", "p_value_holm", "regression_p", "holm_p")] == [None] * 4
    assert [row["compared_rows"] for row in rows] == [1, 1]
    assert rows[1]["verdict_text"] == "inconclusive: a side has one ok repeat"


@asks(sides({"ddp": [10.0, 10.1]}, {"ddp": [20.0, 20.1]}))
def test_two_repeats_on_each_side_have_no_interval(compare):
    (row,) = compare()
    assert [row[name] for name in ("ratio_lo", "p_value", "same_p", "change_seen", "compared_rows")] == [
        None
    ] * 4 + [0]
    assert row["verdict_text"] == "inconclusive: two repeats on each side are too few"


@asks(sides({"ddp": [10.0, 10.1]}, {"ddp": [20.0, 20.1, 20.0]}))
def test_two_repeats_against_three_have_one(compare):
    (row,) = compare()
    assert row["verdict"] == "slower"
    assert row["ratio_hi"] < 0.6


QUIET = np.array([-1.0, 0.0, 1.0, 0.0]) / 100
SHIFT = -np.log(0.95) + stats.t.isf(0.04, 6) * np.sqrt(2 * QUIET.var(ddof=1) / 4)


@asks(sides(*({"ddp": list((10 * np.exp(QUIET + shift)).round(9))} for shift in (0, SHIFT))))
def test_a_regression_is_below_the_limit_with_its_whole_interval(compare):
    """The one-sided probability is 4 % and alone would call it one; the displayed two-sided interval does not."""
    (row,) = compare()
    assert row["regression_p"] == pytest.approx(0.04, rel=1e-3)
    assert row["ratio_hi"] > 0.95
    assert row["regression"] is False


DRAWS = 1_000
CASES = 6
REPEATS = 5


def sessions_of(connection, name, step_s):
    """A session of one placement per case: step_s[draw][case][repeat], a session per draw."""
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE drawn AS
        SELECT $name || draw AS session_id, 'c' || c AS case_name, r AS repeat,
            (1e9 * step_s[draw + 1][c + 1][r + 1])::BIGINT AS span_ns, case_name || '.' || r AS run_id, 0 AS attempt
        FROM (SELECT $step_s::DOUBLE[][][] AS step_s), range($draws) AS draws(draw), range($cases) AS cases(c),
            range($repeats) AS repeats(r)
        """,
        {"name": name, "step_s": step_s.tolist(), "draws": DRAWS, "cases": CASES, "repeats": REPEATS},
    )
    connection.execute(
        """
        INSERT INTO runs BY NAME
        SELECT session_id, run_id, attempt, case_name, repeat, 'w' AS workload, 'ddp' AS strategy, 'ok' AS status,
            'strong' AS scaling_mode, 'ranks' AS axis, 2 AS workers, 2 AS world_size, 1 AS nodes, 2 AS ranks_per_node,
            1 AS threads, false AS oversubscribed, 64 AS examples_per_step
        FROM drawn
        """
    )
    connection.execute(
        "INSERT INTO run_stats BY NAME SELECT session_id, run_id, attempt, 10 AS measured_steps, span_ns FROM drawn"
    )


@pytest.fixture(scope="module")
def simulated(in_memory):
    """`simulated(step_s of baseline, of candidate)`: rows of compare of every draw, in one query."""

    def run(baseline, candidate):
        in_memory.begin()
        sessions_of(in_memory, "a", baseline)
        sessions_of(in_memory, "b", candidate)
        sessions = [f"{side}{draw}" for side in "ab" for draw in range(DRAWS)]
        derive_and_diagnose(in_memory, sessions, (), wanted=["compare"])
        query = f"""
            SELECT draw, bool_or(regression) AS failed, bool_or(p_value < 0.05) AS raw,
                bool_or(p_value_holm < 0.05) AS held, count(*) AS rows
            FROM range({DRAWS}) AS draws(draw), LATERAL (FROM compare('a' || draw, 'b' || draw))
            GROUP BY draw
        """
        found = in_memory.execute(query).fetchnumpy()
        in_memory.rollback()
        assert set(found["rows"]) == {CASES}
        return {name: float(np.mean(found[name])) for name in ("failed", "raw", "held")}

    return run


def drawn(seed, factor=1.0, noise=0.02):
    draws = np.random.default_rng(seed)
    return factor * np.exp(noise * draws.standard_normal((DRAWS, CASES, REPEATS)))


def test_noise_alone_finds_a_difference_in_some_case_in_5_percent_of_sessions_once_holm_is_applied(simulated):
    found = simulated(drawn(1), drawn(2))
    assert 0.20 < found["raw"] < 0.32  # 1 - 0.95 ** 6 = 26 %
    assert found["held"] < 0.05 + 2 * np.sqrt(0.05 * 0.95 / DRAWS)
    assert found["failed"] == 0


def test_cases_that_are_slower_by_just_the_limit_fail_the_gate_in_at_most_5_percent_of_sessions(simulated):
    found = simulated(drawn(3), drawn(4, factor=1 / 0.95))
    assert 0 < found["failed"] < 0.05 + 2 * np.sqrt(0.05 * 0.95 / DRAWS)


def test_a_planted_regression_of_15_percent_is_found_with_5_repeats_and_2_percent_noise(simulated):
    assert simulated(drawn(5), drawn(6, factor=1 / 0.85))["failed"] > 0.99


def repeats_for(noise, loss, limit=0.05, power=0.8):
    """Fewest repeats per side, three at least, for which Welch's interval is below the limit in this share of cases;
    both sides have equal variances."""
    distance = np.log(1 - limit) - np.log(1 - loss)
    for count in range(3, 1_000):
        df, se = 2 * count - 2, noise * np.sqrt(2 / count)
        if stats.nct.cdf(-stats.t.ppf(0.975, df), df, -distance / se) >= power:
            return count
    return None


def test_the_table_of_repeats_in_the_documents_is_what_scipy_computes():
    page = (Path(__file__).parents[3] / "docs/compare.md").read_text(encoding="utf-8")
    table = [
        line.strip("| ").split(" | ")
        for line in page.partition("<!-- repeats")[2].splitlines()
        if "|" in line
    ]
    losses = [float(heading.split()[1]) / 100 for heading in table[0][1:]]
    rows = [row for row in table[2:] if row[0].endswith(" %")]
    assert len(rows) == 4
    for noise, *counts in rows:
        share = float(noise.split()[0]) / 100
        assert [int(count) for count in counts] == [repeats_for(share, loss) for loss in losses]


def test_the_table_of_sessions_in_the_documents_is_what_the_program_prints():
    page = (Path(__file__).parents[3] / "docs/compare.md").read_text(encoding="utf-8")
    shown = page.partition("<!-- sessions")[2].split("\n\n")[1].splitlines()
    assert shown == lines(20_000, 20261121)


def _cases_of(*changes):
    """Three cases at two sizes, each slower by its own factor; runs vary by up to 0.5 %."""
    noise = np.array([0.001, -0.0045, 0.0035])
    return {
        f"c{place}": [float(seconds) for seconds in 10 * change * (1 + np.roll(noise, place))]
        for place, change in enumerate(changes)
    }


@asks(sides(_cases_of(*[1.0] * 6), _cases_of(1.03, 1.03, 1.1, 1.1, 1.0, 1.006)))
def test_rows_that_are_the_same_did_not_move_with_the_others(compare):
    assert {row["shared_ratio"] for row in compare()} == {None}


@asks(sides(_cases_of(*[1.0] * 6), _cases_of(*[1.05] * 6)))
def test_rows_that_all_moved_share_it(compare):
    (shared,) = {row["shared_ratio"] for row in compare()}
    assert shared == pytest.approx(1 / 1.05, rel=0.005)
    assert {row["moved_rows"] for row in compare()} == {6}
