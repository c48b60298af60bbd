-- One row per case and placement that both sessions ran: throughput of the candidate over that of the baseline, each
-- the geometric mean over ok repeats. Interval: two-sided 95 %, the repeat is the unit; Welch on the difference of
-- logs; null below two ok repeats on either side. Verdict: `faster` or `slower` where the interval excludes 1, `same`
-- where it lies within 1 ± margin, else `inconclusive`; null where a side has no ok repeat or was oversubscribed.
-- A case is the same where its name, workload, scaling and strategy are. Placements match by their ranks; threads per
-- rank tell them apart only where they are the axis: elsewhere a plan gives all ranks of a case the same number.
CREATE OR REPLACE MACRO compare(baseline_session, candidate_session, margin := 0.02) AS TABLE
WITH points AS (
    SELECT
        *,
        log_variance / nullif(repeats, 0) AS variance_of_mean,
        CASE WHEN axis = 'threads' THEN threads ELSE 0 END AS axis_threads
    FROM placements
    WHERE session_id = baseline_session OR session_id = candidate_session
),
baselines AS (
    SELECT * FROM points WHERE session_id = baseline_session
),
candidates AS (
    SELECT * FROM points WHERE session_id = candidate_session
),
paired AS (
    SELECT
        candidates.case_name, candidates.workload, candidates.scaling, candidates.strategy, candidates.axis,
        candidates.workers,
        candidates.world_size, candidates.nodes, candidates.ranks_per_node, candidates.threads,
        baselines.oversubscribed OR candidates.oversubscribed AS oversubscribed,
        baselines.repeats AS baseline_repeats,
        candidates.repeats AS candidate_repeats,
        baselines.throughput AS baseline_throughput,
        candidates.throughput AS candidate_throughput,
        candidates.throughput / baselines.throughput AS ratio,
        baselines.variance_of_mean AS baseline_variance,
        candidates.variance_of_mean AS candidate_variance
    FROM baselines
    JOIN candidates USING (case_name, workload, scaling, strategy, axis, nodes, ranks_per_node, axis_threads)
),
with_df AS (
    SELECT
        *,
        sqrt(baseline_variance + candidate_variance) AS ratio_se,
        -- Satterthwaite; where neither side varies any t times zero is zero, so that df = 1 serves.
        CASE
            WHEN baseline_variance + candidate_variance > 0
            THEN (baseline_variance + candidate_variance) ** 2
                / (baseline_variance ** 2 / (baseline_repeats - 1)
                    + candidate_variance ** 2 / (candidate_repeats - 1))
            ELSE 1
        END AS ratio_df
    FROM paired
),
with_interval AS (
    SELECT
        *,
        ratio * exp(-t_quantile(ratio_df) * ratio_se) AS ratio_lo,
        ratio * exp(t_quantile(ratio_df) * ratio_se) AS ratio_hi
    FROM with_df
),
final AS (
    SELECT
        case_name, workload, scaling, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        oversubscribed,                -- on either side
        baseline_repeats,              -- that are ok
        candidate_repeats,             -- that are ok
        baseline_throughput,           -- geometric mean over ok repeats
        candidate_throughput,          -- geometric mean over ok repeats
        ratio,                         -- of throughputs: above 1 the candidate is faster
        ratio_lo,
        ratio_hi,
        CASE
            WHEN oversubscribed OR ratio IS NULL THEN NULL
            WHEN ratio_lo > 1 THEN 'faster'
            WHEN ratio_hi < 1 THEN 'slower'
            WHEN ratio_lo >= 1 - margin AND ratio_hi <= 1 + margin THEN 'same'
            ELSE 'inconclusive'
        END AS verdict                 -- faster, slower, same, inconclusive
    FROM with_interval
)
SELECT * FROM final;
