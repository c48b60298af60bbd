-- One row per session, case and placement whose speedup is estimated within rounds: intervals that hold for all of the
-- case's sizes together in at least 93 of 100 sessions, also if one size varies more than the others. Use them to
-- compare several sizes, and those of `scaling` for one. They are the wider of two: the interval from the variance of
-- all sizes together, at Šidák's level for their number; and the size's own interval, at the level for `comparisons`.
WITH ratios AS (
    SELECT
        scaling.session_id, scaling.case_name, scaling.workers, scaling.nodes, scaling.ranks_per_node, scaling.threads,
        placement, speedup, speedup_lo, speedup_hi, efficiency, efficiency_lo, efficiency_hi, rounds, stops_early,
        variance_of(differences_within(here.logs, there.logs)) AS variance
    FROM scaling
    JOIN (SELECT session_id, case_name, nodes, ranks_per_node, threads, logs FROM placements) AS here
        USING (session_id, case_name, nodes, ranks_per_node, threads)
    JOIN (SELECT session_id, case_name, nodes, ranks_per_node, threads, logs FROM placements) AS there
        ON there.session_id = scaling.session_id AND there.case_name = baseline_case
        AND there.nodes = baseline_nodes AND there.ranks_per_node = baseline_ranks_per_node
        AND there.threads = baseline_threads
    WHERE rounds IS NOT NULL AND NOT scaling.oversubscribed
),
-- The sizes share the baseline's runs, so their variances are correlated by about a quarter.
families AS (
    SELECT
        *,
        count(*) OVER family AS sizes,
        sum(rounds - 1) OVER family AS degrees,
        sum((rounds - 1) * variance) OVER family / degrees AS pooled_variance,
        greatest(1, 4 * degrees / (sizes + 3)) AS pooled_df,
        greatest(1, sizes ** (1 - 3 / max(rounds) OVER family)) AS comparisons
    FROM ratios
    WINDOW family AS (PARTITION BY session_id, case_name)
),
with_half_widths AS (
    SELECT
        *,
        -- as wide in proportion as other intervals if repeats were added until one was narrow
        t_quantile_at(1 - 0.95 ** (1 / sizes), pooled_df) * t_quantile_for(pooled_df, stops_early)
            / t_quantile(pooled_df) * sqrt(pooled_variance / rounds) AS pooled_half_width,
        ln(speedup_hi / speedup) * t_quantile_at(1 - 0.95 ** (1 / comparisons), greatest(rounds - 1, 2))
            / t_quantile(greatest(rounds - 1, 2)) AS own_half_width
    FROM families
),
with_half_width AS (
    SELECT
        *,
        -- null without an own interval
        CASE WHEN own_half_width < pooled_half_width THEN pooled_half_width ELSE own_half_width END AS half_width
    FROM with_half_widths
),
final AS (
    SELECT
        session_id, case_name,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        workers, nodes, ranks_per_node, threads, placement,
        rounds,                        -- rounds within which the speedup is estimated
        sizes,                         -- number of the case's sizes that the intervals hold for together
        speedup,                       -- as in scaling
        speedup * exp(-half_width) AS speedup_lo,
        speedup * exp(half_width) AS speedup_hi,
        efficiency,
        efficiency * exp(-half_width) AS efficiency_lo,
        efficiency * exp(half_width) AS efficiency_hi
    FROM with_half_width
)
SELECT * FROM final;
