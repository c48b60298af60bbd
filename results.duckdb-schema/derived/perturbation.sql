-- One row per session, case and placement with an ok run that trained: the time that recording (time stamps, reading
-- the loss, storing the row) adds to a step. It is measured by pairs of a bare and an instrumented step after the
-- measured steps of the first repeat. Both times of a pair are means over ranks. Figures are medians over pairs; the
-- interval of the difference is between two of the pairs' own differences, two-sided 95 %, null below six pairs. If
-- nothing was measured, all columns but `left_out` are null.
WITH measuring AS (
    SELECT
        session_id, run_id, attempt,
        suite, case_name, nodes, ranks_per_node, threads, repeat, workers, world_size, placement, device_type
    FROM run_summary
    WHERE status = 'ok' AND measured_steps > 0
),
asked AS (
    SELECT
        session_id, run_id, attempt,
        try_cast(config -> 'measure' ->> 'selfcheck' AS BIGINT) AS asked_steps,
        json_exists(config, '$.measure.selfcheck') AS knows_selfcheck
    FROM runs
),
pairs AS (
    SELECT
        session_id, run_id, attempt, pair,
        avg(step_ns) FILTER (kind = 'bare') AS bare_ns,
        avg(step_ns) FILTER (kind = 'instrumented') AS instrumented_ns,
        instrumented_ns - bare_ns AS difference_ns
    FROM selfcheck
    GROUP BY session_id, run_id, attempt, pair
),
over_pairs AS (
    SELECT
        session_id, suite, case_name, nodes, ranks_per_node, threads,
        any_value(workers) AS workers,
        any_value(world_size) AS world_size,
        any_value(placement) AS placement,
        any_value(device_type) AS device_type,
        min(repeat) AS first_ok_repeat,
        max(asked_steps) AS asked_steps,
        bool_and(knows_selfcheck) AS knows_selfcheck,
        count(difference_ns) AS pairs,
        median(bare_ns) / 1e6 AS bare_step_ms,
        median(difference_ns) / 1e3 AS difference_us,
        list_sort(list(difference_ns / 1e3) FILTER (difference_ns IS NOT NULL)) AS sorted_us
    FROM measuring
    LEFT JOIN asked USING (session_id, run_id, attempt)
    LEFT JOIN pairs USING (session_id, run_id, attempt)
    GROUP BY session_id, suite, case_name, nodes, ranks_per_node, threads
),
final AS (
    SELECT
        session_id, suite, case_name, nodes, ranks_per_node, threads, workers, world_size, placement, device_type,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        pairs,                 -- pairs of steps
        2 * pairs AS steps,    -- steps used, per rank
        bare_step_ms,          -- median over pairs
        difference_us,         -- instrumented minus bare, median over pairs: the overhead of recording per step
        sorted_us[median_lo_rank(pairs)] AS difference_us_lo,
        sorted_us[pairs + 1 - median_lo_rank(pairs)] AS difference_us_hi,
        difference_us / 1e3 / bare_step_ms AS share,  -- difference as a share of the bare step
        difference_us_lo / 1e3 / bare_step_ms AS share_lo,
        difference_us_hi / 1e3 / bare_step_ms AS share_hi,
        -- left_out: why nothing was measured: switched off, first repeat not ok, too short; null if measured or unknown
        CASE
            WHEN pairs > 0 THEN NULL
            WHEN asked_steps = 0 THEN 'switched off'
            WHEN first_ok_repeat > 0 AND knows_selfcheck THEN 'first repeat not ok'
            WHEN asked_steps IS NULL AND knows_selfcheck THEN 'too short'
        END AS left_out
    FROM over_pairs
)
SELECT * FROM final;
