"""Slow runs, and what typical and expected figures make of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from scipy.optimize import brentq

from analysis.loading.derive import derive_and_diagnose
from analysis.wording.caveats import slow_runs
from analysis.wording.headline import headline
from bench.session.slow_runs import slow_runs as slow_runs_of
from benchmarks.coverage import empty_database
from tests.factory import Case
from tests.unit.analysis.conftest import fetch, measured

WORKERS = np.array([1, 2, 4, 8])
RUN = """
    'ok' AS status, 'strong' AS scaling_mode, 'ranks' AS axis, 64 AS examples_per_step, false AS oversubscribed,
    1 AS nodes,
    workers AS ranks_per_node, workers AS world_size, 1 AS threads, 'ddp' AS case_name
"""


@pytest.fixture
def derived():
    """`derived(log_times)` derives scaling from sessions of ln(time), by session, round and size; it returns the
    connection."""
    with empty_database() as connection:

        def derive(log_times):
            session, repeat, place = (index.ravel() for index in np.indices(log_times.shape))
            columns = {
                "session_id": session.astype(str),
                "repeat": repeat,
                "round": repeat,
                "workers": WORKERS[: log_times.shape[2]][place],
                "span_ns": np.rint(np.exp(log_times) * 1e12).astype(np.int64).ravel(),
            }
            connection.register("rows", pa.table(columns))
            key = "session_id, workers || '.' || repeat AS run_id, 0 AS attempt"
            for table, more in (
                ("runs", f"repeat, round, workers, {RUN}"),
                ("run_stats", "100 AS measured_steps, span_ns"),
            ):
                connection.execute(f"INSERT INTO {table} BY NAME SELECT {key}, {more} FROM rows")
            sessions = [str(number) for number in range(len(log_times))]
            derive_and_diagnose(connection, sessions, (), wanted=["scaling"])
            return connection

        yield derive


def drawn(rounds, sizes=4, sessions=200, slow=0.03, noise=0.01):
    """ln(time) of sessions, some of whose runs take about 1.5 times as long."""
    random = np.random.default_rng(rounds)
    shape = (sessions, rounds, sizes)
    is_slow = random.random(shape) < 1 - (1 - slow) ** WORKERS[:sizes]
    slowdown = np.log(1.5) + random.normal(0, 0.1, shape)
    between = random.normal(0, 0.05, (sessions, rounds, 1))
    return random.normal(0, noise, shape) + between + slowdown * is_slow - np.log(WORKERS[:sizes])


def excesses(log_times):
    """By how much ln(time) of each run of a session (rounds, sizes) exceeds the typical run's of the size and round."""
    rounds, sizes = log_times.shape
    place = max(2, -(-rounds // 4)) - 1
    excess = log_times - np.sort(log_times, axis=0)[place]
    for _ in range(2 if sizes > 2 else 0):
        excess = excess - np.sort(excess, axis=1)[:, [(sizes - 1) // 2]]
        excess = excess - np.sort(excess, axis=0)[place]
    return excess


def flags(excess):
    """Which runs of a session are slow."""
    rounds, sizes = excess.shape
    taken = rounds * sizes / ((rounds - 1) * max(1, sizes - 1))
    candidates = excess > max(np.log(1.2), 8 * 1.4826 * np.median(np.abs(excess)) * np.sqrt(taken))
    for column, chosen in zip(excess.T, candidates.T, strict=True):
        others = column[~chosen]
        if not 0 < chosen.sum() <= max(1, rounds - 2) or (
            len(others) < 2 or column[chosen].min() - others.max() <= 6 * others.std(ddof=1)
        ):
            chosen[:] = False
    return candidates


@pytest.mark.parametrize(("rounds", "sizes"), [(3, 4), (3, 2), (5, 3), (10, 4)])
def test_slow_runs_are_those_that_stand_apart(derived, rounds, sizes):
    log_times = drawn(rounds, sizes)
    expected = {}
    for session, times in enumerate(log_times):
        excess = excesses(times)
        for repeat, place in np.argwhere(flags(excess)):
            expected[str(session), f"{WORKERS[place]}.{repeat}"] = np.exp(excess[repeat, place])
        by_size = [dict(enumerate(column)) for column in times.T]
        assert slow_runs_of(by_size) == {(place, repeat) for repeat, place in np.argwhere(flags(excess))}
    rows = derived(log_times).execute("SELECT session_id, run_id, slowdown FROM slow_runs").fetchall()
    assert len(rows) > 10
    assert {(session, run): slowdown for session, run, slowdown in rows} == pytest.approx(expected, rel=1e-6)


@measured(Case(name="ddp", step_ms={1: [10.0, 10.1, 16.0], 2: [5.0, 5.1, 8.0], 4: [2.6, 2.5, 4.1]}))
def test_a_slow_round_has_no_slow_runs(ask):
    assert ask("SELECT count(*) AS runs FROM slow_runs") == [{"runs": 0}]


@measured(Case(name="ddp", step_ms={1: [10.0, 10.1, 10.0], 2: [5.0, 7.6, 7.5], 4: [2.6, 2.5, 2.55]}))
def test_two_slow_repeats_of_three_may_be_the_usual_ones(ask):
    assert ask("SELECT count(*) AS runs FROM slow_runs") == [{"runs": 0}]


ONE_SLOW = Case(
    name="ddp",
    step_ms={1: [10.0, 10.1, 9.9], 2: [5.1, 5.0, 5.05], 4: [2.6, 2.61, 2.62], 8: [1.3, 1.95, 1.31]},
)


@measured(ONE_SLOW)
def test_a_slow_run_does_not_count_for_typical_figures(ask):
    row = ask("FROM scaling WHERE workers = 8")[0]
    assert (row["repeats"], row["slow_repeats"], row["rounds"]) == (2, 1, 2)
    assert row["throughput"] == pytest.approx(64e3 / np.sqrt(1.3 * 1.31))
    assert row["speedup"] == pytest.approx(np.sqrt(10.0 / 1.3 * 9.9 / 1.31), rel=5e-3)
    assert 7 < row["speedup_lo"] < row["speedup_hi"] < 8.2
    parts = ask("SELECT sum(share) AS lost FROM efficiency_loss WHERE workers = 8")[0]
    assert parts["lost"] == pytest.approx(1 - row["efficiency"])
    assert ask("SELECT count(*) AS runs FROM law_points WHERE workers = 8") == [{"runs": 2}]


def expectation(log_times):
    """Typical ln(speedup) of the largest size with its half-width, and the expected one with its limits; of a session
    with slow runs."""
    slow, excess = flags(excesses(log_times)), excesses(log_times)
    rounds, sizes = log_times.shape
    workers = WORKERS[:sizes]

    def rate(count):
        return brentq(lambda q: (rounds * (1 - (1 - q) ** workers)).sum() - count, 0, 0.999)

    count = slow.sum()
    limits = stats.chi2.ppf(0.025, 2 * count) / 2, stats.chi2.ppf(0.975, 2 * count + 2) / 2
    differences = [
        (log_times[:, 0] - log_times[:, place])[~slow[:, 0] & ~slow[:, place]] for place in range(1, sizes)
    ]
    differences = [one for one in differences if len(one) > 1]  # the others have no rounds
    degrees = sum(len(one) - 1 for one in differences)
    pooled = sum((len(one) - 1) * one.var(ddof=1) for one in differences) / degrees
    df = max(1, 4 * degrees / (len(differences) + 3))
    last = differences[-1]
    own = stats.t.ppf(0.975, len(last) - 1) * last.std(ddof=1) / len(last) ** 0.5
    few = max(
        stats.t.ppf(0.975, df) * (pooled / len(last)) ** 0.5,
        stats.t.ppf(0.975, 2) * (last.var(ddof=1) / len(last)) ** 0.5,
    )
    half = min(own, few) if len(last) < min(4, rounds) else own
    share = np.minimum(1 - (1 - rate(count)) ** workers, 0.48)
    shift = (pooled / 2) ** 0.5 * (
        stats.norm.ppf(0.5 / (1 - share[0])) - stats.norm.ppf(0.5 / (1 - share[-1]))
    )
    typical = last.mean() + shift
    factors = np.exp(excess[slow])
    factor = factors.mean()
    spread = stats.t.ppf(0.975, count - 1) * factors.std(ddof=1) / count**0.5 if count > 1 else 0.0

    def slowing(q, factor):
        shares = 1 - (1 - q) ** workers[[0, -1]]
        return np.diff(np.log1p((factor - 1) * shares))[0]

    at = slowing(rate(count), factor)
    others = [slowing(q, factor) for q in np.linspace(*map(rate, limits), 51)]
    best, worst = min(at, *others), max(at, *others)
    shorter, longer = slowing(rate(count), max(1, factor - spread)), slowing(rate(count), factor + spread)
    low = min(typical - half, typical - at - np.sqrt(half**2 + (worst - at) ** 2 + (longer - at) ** 2))
    high = max(typical + half, typical - at + np.sqrt(half**2 + (best - at) ** 2 + (shorter - at) ** 2))
    return {"typical": typical, "half": half, "at": typical - at, "low": low, "high": high}


@pytest.mark.parametrize("rounds", [3, 10])
def test_typical_and_expected_speedups_are_those_of_the_methodology(derived, rounds):
    log_times = drawn(rounds, sessions=60)
    rows = fetch(
        derived(log_times),
        "FROM scaling WHERE workers = 8 AND slow_runs > 0 AND rounds IS NOT NULL AND NOT may_be_slow",
    )
    assert len(rows) > 20
    for row in rows:
        wanted = expectation(log_times[int(row["session_id"])])
        assert {
            "typical": np.log(row["speedup"]),
            "half": np.log(row["speedup_hi"] / row["speedup"]),
            "at": np.log(row["expected_speedup"]),
        } == pytest.approx({name: wanted[name] for name in ("typical", "half", "at")}, abs=1e-6)
        # Garwood's limits are approximated
        assert np.log([row["expected_speedup_lo"], row["expected_speedup_hi"]]) == pytest.approx(
            [wanted["low"], wanted["high"]], abs=2e-3
        )


def test_where_most_runs_may_be_slow_a_ratio_has_no_interval(derived):
    log_times = drawn(10, sessions=1, slow=0.0)
    log_times[0, [0, 2, 4, 6, 8, 9], 3] += np.log(1.5)
    log_times[0, [1, 3, 5, 7], 2] += np.log(1.5)
    (row,) = fetch(derived(log_times), "FROM scaling WHERE workers = 8")
    assert (row["slow_repeats"], row["may_be_slow"], row["speedup_lo"]) == (6, True, None)
    assert (row["verdict"], row["is_slower"]) == ("undecided", False)
    assert row["expected_speedup_lo"] < row["expected_speedup"] < row["expected_speedup_hi"]
    assert headline([row]).endswith(" % efficiency; how sure is not known.")


def test_the_expected_interval_holds_at_any_rate_between_the_limits(derived):
    """At high rates both sizes are nearly always slow, so the extremes are not at the ends."""
    log_times = drawn(10, sessions=40, slow=0.1)
    query = "FROM scaling JOIN disturbances USING (session_id, slow_runs) WHERE workers = 8 AND slow_runs > 0"
    rows = fetch(derived(log_times), query)
    beyond = 0
    for row in rows:
        rates = np.linspace(row["rate_per_rank_lo"], row["rate_per_rank_hi"], 500)
        means = [1 + (row["slowdown"] - 1) * (1 - (1 - rates) ** ranks) for ranks in (1, 8)]
        speedups = row["speedup"] * means[0] / means[1]
        beyond += speedups.min() < min(speedups[0], speedups[-1])
        assert row["expected_speedup_lo"] <= speedups.min() * 1.001
        assert row["expected_speedup_hi"] >= speedups.max() * 0.999
    assert len(rows) > 30
    assert beyond


@measured(ONE_SLOW)
def test_the_sentences_say_typical_and_expected(ask):
    points = ask("FROM scaling ORDER BY workers")
    assert headline(points).startswith("ddp on 8 ranks is 7.6")
    (sentence,) = slow_runs(points)
    assert sentence == (
        "1 of 12 runs was slow, by 20 % or more. Typical figures leave it out; expected figures are those of the long "
        "run, slow runs included."
    )


@measured(Case(name="ddp", step_ms={1: [10.0, 10.1, 9.9], 8: [1.3, 1.32, 1.31]}))
def test_without_a_slow_run_the_sentence_says_how_rare_they_are(ask):
    points = ask("FROM scaling ORDER BY workers")
    assert {point["expected_speedup"] for point in points} == {None}
    (sentence,) = slow_runs(points)
    most = 1 - 0.025 ** (8 / (3 * 1 + 3 * 8))
    assert sentence == (
        "Figures are typical: none of 6 runs was slow, by 20 % or more. Probably at most "
        f"{100 * most:.2g} % of runs on 8 ranks are slow."
    )


@measured(Case(name="ddp", step_ms={1: 10.0, 8: [1.3, 1.9]}, repeats=2))
def test_two_repeats_cannot_show_a_slow_run(ask):
    points = ask("FROM scaling")
    assert list(slow_runs(points)) == []
    assert {point["slow_repeats"] for point in points} == {0}


def test_the_macros_agree_with_scipy(in_memory):
    def value(expression, *values):
        return in_memory.execute(f"SELECT {expression}", list(values)).fetchone()[0]

    for p in (0.025, 0.1, 0.3, 0.5):
        assert value("normal_quantile($1::DOUBLE)", p) == pytest.approx(
            stats.norm.isf(p), rel=2e-9, abs=1e-12
        )
    for x in (-5.0, -1.3, 0.0, 0.4, 3.0, 40.0):
        assert value("normal_below($1::DOUBLE)", x) == pytest.approx(stats.norm.cdf(x), abs=7.5e-8)
    for count in (0, 1, 2, 5, 30):
        limits = (
            stats.chi2.ppf(0.025, 2 * count) / 2 if count else 0,
            stats.chi2.ppf(0.975, 2 * count + 2) / 2,
        )
        assert (value("count_lo($1)", count), value("count_hi($1)", count)) == pytest.approx(limits, abs=0.03)
