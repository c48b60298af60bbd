-- title: Loss is NaN or infinite
-- severity: critical
-- meaning: A NaN or infinite loss ends learning: usually every parameter is NaN from then on. The steps take as long as
--   before, so times do not show it.
--
-- Fires at any NaN or infinite loss of any rank, warm-up included. If a loss is not finite before the first update,
-- the optimizer's settings cannot be the cause; the advice says so.
WITH attempts AS (
    SELECT
        session_id, run_id, attempt,
        -- a command has its own
        CASE WHEN strategy <> 'command' THEN try_cast(config ->> '$.train.learning_rate' AS DOUBLE) END AS learning_rate,
        config ->> '$.train.clip_norm' AS clip_norm,
        config ->> '$.strategy_options.param_dtype' AS param_dtype
    FROM runs
),
first_steps AS (
    SELECT session_id, run_id, attempt, min(step) AS first_step
    FROM step_stats
    WHERE nonfinite_losses > 0 AND kind IN ('warmup', 'measured')
    GROUP BY session_id, run_id, attempt
),
places AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        any_value(precision) AS precision,
        any_value(learning_rate) AS learning_rate,
        any_value(clip_norm) AS clip_norm,
        any_value(param_dtype) AS param_dtype,
        count(*) AS runs,
        count(*) FILTER (nonfinite_losses > 0) AS spoilt_runs,
        min(first_step) AS first_step
    FROM run_summary
    JOIN attempts USING (session_id, run_id, attempt)
    LEFT JOIN first_steps USING (session_id, run_id, attempt)
    WHERE status <> 'skipped'
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
with_cause AS (
    SELECT
        *,
        CASE
            WHEN precision = 'fp16' AND param_dtype IS DISTINCT FROM 'fp16' THEN 'range'
            WHEN first_step = 0 THEN 'before'
            WHEN learning_rate > 0 THEN 'updates'
        END AS cause
    FROM places
    WHERE spoilt_runs > 0 AND first_step IS NOT NULL
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    spoilt_runs AS magnitude,
    format('in {} of {} runs the loss was NaN or infinite, first in step {}', spoilt_runs, runs, first_step)
        AS evidence,
    CASE cause
        WHEN 'range'
        THEN 'Train in bf16, which has the range of fp32; fp16 ends at 65,504. If losses are then still not finite, '
            'lower the learning rate.'
        WHEN 'before'
        THEN 'Check the data and the loss for a division by zero or a logarithm of zero: the very first loss is not '
            'finite, before any update, so the learning rate is not the cause.'
        WHEN 'updates'
        THEN format(
            'Lower the learning rate from {} to a tenth{}. If that does not help, check the data and the loss for a '
            'division by zero or a logarithm of zero.',
            learning_rate, if(clip_norm IS NULL, ' and clip the norm of the gradients at 1', '')
        )
        ELSE 'Lower the learning rate, clip gradients, and check the data and the loss for a division by zero.'
    END AS advice,
    CASE cause
        WHEN 'range' THEN if(
            has_one_precision, option_of_all(compared, 'train.precision', 'bf16'),
            option_of(case_name, 'train.precision', 'bf16')
        )
        WHEN 'updates' THEN concat_ws(
            ' ',
            option_of(case_name, 'train.learning_rate', format('{:.3g}', learning_rate / 10)),
            if(clip_norm IS NULL, option_of(case_name, 'train.clip_norm', '1.0'), NULL)
        )
    END AS options
FROM with_cause
JOIN compared_cases USING (session_id, case_name)
