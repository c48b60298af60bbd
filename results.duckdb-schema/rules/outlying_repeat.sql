-- title: One repeat is far from the others
-- severity: warning
-- meaning: Something disturbed a single run. If the run is certainly slow, typical figures leave it out. Otherwise it
--   widens the interval of its size so much that the interval decides nothing, although all other repeats agree. If it
--   is a repeat of the baseline, it does the same to every size.
--
-- Fires for each run of slow_runs. It also fires if the throughput of an ok run is far from the mean of its size's
-- other repeats: at least a tenth of it, at least twice as far as these are from each other, and at least three times
-- as far as the other sizes are in the same round, because a round that slows every size is the machine's drift. The
-- variance of all other runs of the session around the means of their sizes must also make such a deviation less
-- likely than one in a hundred sessions (Student's t, Bonferroni over the runs). Three repeats cannot show that on
-- their own, but with the other sizes they can.
WITH ok_runs AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, placement, run_id, attempt, throughput, throughput_unit,
        coalesce(round, repeat) AS round,
        x,
        slowdown,
        count(*) OVER of_size AS repeats,
        -- A slow run is compared with those that are not slow.
        if(slowdown IS NULL, repeats - 1, count(*) FILTER (slowdown IS NULL) OVER of_size) AS others,
        if(slowdown IS NULL, min(throughput) OVER of_others, min(throughput) FILTER (slowdown IS NULL) OVER of_size)
            AS least,
        if(slowdown IS NULL, max(throughput) OVER of_others, max(throughput) FILTER (slowdown IS NULL) OVER of_size)
            AS greatest,
        x - avg(x) OVER of_others AS deviation
    FROM (
        SELECT run_summary.*, slowdown, ln(throughput) AS x
        FROM run_summary
        LEFT JOIN (FROM slow_runs SELECT session_id, run_id, attempt, slowdown) AS slow
            USING (session_id, run_id, attempt)
        WHERE status = 'ok' AND NOT oversubscribed AND throughput > 0
    ) AS ok_ones
    WINDOW
        of_size AS (PARTITION BY session_id, case_name, nodes, ranks_per_node, threads),
        of_others AS (
            PARTITION BY session_id, case_name, nodes, ranks_per_node, threads
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW
        )
),
sizes AS (
    SELECT session_id, (count(*) - 1) * var_samp(x) AS square, count(*) - 1 AS df, count(*) AS runs
    FROM ok_runs
    WHERE repeats > 1
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
variances AS (
    SELECT session_id, sum(square) AS square, sum(df) AS df, sum(runs) AS runs FROM sizes GROUP BY session_id
),
with_errors AS (
    SELECT
        ok_runs.*, runs,
        df - 1 AS others_df,
        -- Without this run, the squares of its size are smaller by the last term.
        greatest(square - deviation ** 2 * (repeats - 1) / repeats, 0) / others_df AS others_variance,
        sqrt(others_variance * repeats / (repeats - 1)) AS deviation_error,
        median(abs(deviation)) OVER (
            PARTITION BY session_id, round
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW
        ) AS deviation_of_round
    FROM ok_runs
    JOIN variances USING (session_id)
    WHERE repeats > 2
),
found AS (
    FROM with_errors
    WHERE slowdown IS NOT NULL
        OR abs(deviation) >= -ln(0.9)
        AND abs(deviation) >= 2 * ln(greatest / least)
        AND abs(deviation) >= 3 * coalesce(deviation_of_round, 0)
        AND 2 * runs * p_not_below(-abs(deviation), deviation_error, others_df) <= 0.01
),
dependents AS (
    SELECT
        session_id,
        baseline_case AS case_name, baseline_nodes AS nodes, baseline_ranks_per_node AS ranks_per_node,
        baseline_threads AS threads,
        count(*) AS sizes
    FROM scaling
    WHERE NOT is_baseline AND speedup IS NOT NULL
    GROUP BY ALL
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    abs(deviation) * if(slowdown IS NULL, coalesce(sizes, 1), 1) AS magnitude,
    format(
        '{}{} trained {} {}, the {} {} repeats of {} {} to {}', run_id,
        coalesce(' on ' || (fingerprint ->> 'nodes'), ''), number_text(throughput), throughput_unit, others,
        if(others = repeats - 1, 'other', 'ordinary'), placement, number_text(least), number_text(greatest)
    ) || CASE
        WHEN others < repeats - 1 THEN format('; typical figures leave out this one and {} more', repeats - 1 - others)
        WHEN slowdown IS NOT NULL THEN '; typical figures leave it out'
        WHEN sizes IS NOT NULL THEN format('; it is a repeat of the baseline of {} {}', sizes, if(sizes = 1, 'size', 'sizes'))
        ELSE ''
    END AS evidence,
    CASE
        WHEN deviation > 0 THEN format('Find out what slowed the other repeats of {}.', placement)
        ELSE format('Find out what disturbed {}: other work on the node at that time, its clocks, its log.', run_id)
    END || CASE
        WHEN slowdown IS NOT NULL THEN ' The expected figures show what such runs cost in the long run.'
        ELSE ' Then measure again with more repeats: a single one then weighs less.'
    END AS advice,
    CASE WHEN slowdown IS NULL THEN format('--repeats {}', repeats + 2) END AS options
FROM found
JOIN (SELECT session_id, run_id, attempt, fingerprint FROM runs) AS made_by USING (session_id, run_id, attempt)
LEFT JOIN dependents USING (session_id, case_name, nodes, ranks_per_node, threads)
