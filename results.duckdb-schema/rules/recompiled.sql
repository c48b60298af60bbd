-- title: Compilation during measured steps
-- severity: warning
-- meaning: torch.compile compiles again whenever it meets something new, such as another shape, for seconds to minutes.
--   Such a step is not a normal training step, and the results of these runs contain it.
--
-- Fires at any compilation during the measured steps of an ok run.
WITH warmups AS (
    SELECT session_id, run_id, attempt, try_cast(config ->> '$.measure.warmup' AS BIGINT) AS warmup
    FROM runs
),
places AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        count(*) AS repeats,
        count(*) FILTER (measured_recompiles > 0) AS spoilt_repeats,
        max(measured_recompiles) AS recompiles,
        max(step_ms_max) FILTER (measured_recompiles > 0) AS longest_ms,
        arg_max(step_ms, step_ms_max) FILTER (measured_recompiles > 0) AS median_ms,
        any_value(warmup) AS warmup
    FROM run_summary
    JOIN warmups USING (session_id, run_id, attempt)
    WHERE status = 'ok'
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    recompiles AS magnitude,
    format(
        'in {} of {} ok repeats, measured steps contain compilations, up to {} of them', spoilt_repeats, repeats,
        recompiles
    ) || if(
        longest_ms > 2 * median_ms,
        format(
            '; the longest of these steps took {} ms, the median step {} ms', number_text(longest_ms),
            number_text(median_ms)
        ),
        ''
    ) AS evidence,
    'Warm up for longer.' AS advice,
    'If measured steps still contain compilations, give all batches one shape: drop the last one if it is smaller, pad '
    'sequences to a few lengths.' AS alternatives,
    option_of(case_name, 'measure.warmup', greatest(2 * warmup, 10)) AS options
FROM places
WHERE spoilt_repeats > 0
