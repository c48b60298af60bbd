-- title: One rank arrives late
-- severity: warning
-- meaning: All ranks wait for the one that arrives last at an exchange, and that rank does not wait. Here it is the
--   same rank in step after step. It may be slow anywhere before the exchange, also in backward or in Python.
--
-- Fires if the profiled steps show that a rank waits less in collectives than the median rank, by more than 5 % of the
-- step with its whole 95 % interval, and by more than as many equal ranks would show by chance, as in `stragglers`.
-- With one repeat it is likely, from 10 % on. Does not fire if the time before the first wait shows a slow rank, which
-- straggler, slow_node or unequal_work report.
WITH each_rank AS (
    SELECT
        session_id, run_id, attempt, rank,
        any_value(node) AS node,
        avg(exposed_communication_ns) AS exposed_ns,
        avg(step_ns) AS step_ns
    FROM profile
    ANTI JOIN paused_profiles USING (session_id, run_id, attempt, step)
    GROUP BY session_id, run_id, attempt, rank
),
-- The middle rank that waits more, if there are two: then one of two ranks can be late.
medians AS (
    SELECT session_id, run_id, attempt, -quantile_disc(-exposed_ns, 0.5) AS median_ns
    FROM each_rank
    GROUP BY session_id, run_id, attempt
),
over_repeats AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, world_size, node, rank,
        count(*) AS repeats,
        avg((median_ns - exposed_ns) / step_ns) AS share,
        var_samp((median_ns - exposed_ns) / step_ns) / count(*) AS variance
    FROM each_rank
    JOIN medians USING (session_id, run_id, attempt)
    JOIN run_summary USING (session_id, run_id, attempt)
    WHERE status = 'ok' AND world_size > 1 AND NOT oversubscribed
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads, world_size, node, rank
),
with_intervals AS (
    SELECT
        *,
        mean_half_width(repeats, variance * repeats) AS half_width,
        coalesce(
            sqrt(2 * ln(world_size / 0.025))
                * sqrt(avg(variance) OVER (PARTITION BY session_id, case_name, nodes, ranks_per_node, threads)),
            0.1
        ) AS largest_by_chance
    FROM over_repeats
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(half_width IS NULL, 'likely', 'shown') AS certainty,
    share AS cost,
    format(
        'rank {} on node {} waits less for the others than the median rank, by {} of a profiled step: they wait for it',
        rank, node, share_text(share, share - half_width, share + half_width)
    ) AS evidence,
    'See in a timeline what that rank does before each exchange: hooks, logging, more work, or the same work more '
    'slowly.' AS advice,
    'If it does the same work, check what shares its GPU or cores, and its clocks.' AS alternatives,
    '--trace' AS options
FROM with_intervals
ANTI JOIN (FROM stragglers WHERE is_straggler) AS told USING (session_id, case_name, nodes, ranks_per_node, threads)
WHERE share > largest_by_chance AND coalesce(share - half_width, share) > 0.05
QUALIFY row_number() OVER (
    PARTITION BY session_id, case_name, nodes, ranks_per_node, threads ORDER BY share DESC, rank
) = 1
