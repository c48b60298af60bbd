-- title: Compiling went on among measured steps
-- severity: warning
-- meaning: torch.compile compiles anew for what it has not met before, such as another shape, for seconds to minutes. A
--   step in which it does is no step of training, and the figures of these runs contain it.
--
-- Fires at any compilation among the measured steps of an ok run.
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
        'in {} of {} ok repeats something was compiled among measured steps, up to {} times', spoilt_repeats, repeats,
        recompiles
    ) || if(
        longest_ms > 2 * median_ms,
        format(
            '; the longest of these steps took {} ms, the median one {} ms', number_text(longest_ms),
            number_text(median_ms)
        ),
        ''
    ) AS evidence,
    'Warm up for longer. If compilations still come among measured steps, give all batches one shape: drop the last '
    'one where it is smaller, pad sequences to a few lengths.' AS advice,
    knob_of(case_name, 'measure.warmup', greatest(2 * warmup, 10)) AS knob
FROM places
WHERE spoilt_repeats > 0
