-- title: More workers train another model
-- severity: critical
-- meaning: Spread over more workers, the same batch must give the same loss up to rounding. Where it does not, these
--   workers do not train what one trains, and their speed is that of something else.
--
-- Fires where a repeat has the verdict `different` in loss_parity: within its first 20 steps, beyond what rounding in
-- this precision explains. By two repeats that is shown, by one likely.
WITH attempts AS (
    SELECT
        session_id, run_id, attempt,
        config ->> '$.strategy_options.gradient_compression' AS compression,
        config ->> '$.strategy_options.reduce_dtype' AS reduce_dtype
    FROM runs
),
judged AS (
    SELECT loss_parity.*, compression, reduce_dtype
    FROM loss_parity
    JOIN attempts USING (session_id, run_id, attempt)
    WHERE verdict IS NOT NULL
),
places AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, axis,
        count(*) AS repeats,
        count(*) FILTER (verdict = 'different') AS different,
        any_value(baseline_placement) AS baseline_placement,
        any_value(precision) AS precision,
        any_value(compression) AS compression,
        any_value(reduce_dtype) AS reduce_dtype,
        any_value(tolerance) AS tolerance,
        max(largest_relative_difference) FILTER (reason IS NULL) AS difference,
        arg_max(at_step, (largest_relative_difference, -at_step)) FILTER (reason IS NULL) AS at_step,
        any_value(reason) FILTER (verdict = 'different') AS reason
    FROM judged
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads, axis
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(different >= 2, 'shown', 'likely') AS certainty,
    difference AS magnitude,
    format('in {} of {} repeats the losses are not those of {}: ', different, repeats, baseline_placement) || coalesce(
        format(
            'up to {} % apart, in step {}, where rounding explains at most {} %',
            number_text(100 * difference), at_step, number_text(100 * tolerance)
        ),
        reason
    ) AS evidence,
    CASE
        WHEN compression <> 'none'
        THEN 'Send gradients whole: compressing them loses a part, and another one at each number of ranks.'
        WHEN reduce_dtype IN ('bf16', 'fp16')
        THEN 'Reduce gradients in fp32: their sums hang on the number of ranks here.'
        WHEN precision <> 'fp32'
        THEN 'Repeat it in fp32. If losses are the same there, it was rounding; if not, look for what hangs on the '
            'rank: the order of the examples, seeds, dropout, a loss that is a sum instead of a mean.'
        ELSE 'Look for what hangs on the rank and should not: the order of the examples, seeds, dropout, a loss that '
            'is a sum instead of a mean, parameters that are not synchronised.'
    END AS advice,
    CASE
        WHEN compression <> 'none' THEN knob_of(case_name, 'strategy.gradient_compression', 'none')
        WHEN reduce_dtype IN ('bf16', 'fp16') THEN knob_of(case_name, 'strategy.reduce_dtype', 'fp32')
        WHEN precision <> 'fp32' AND has_one_precision THEN knob_of_all(compared, 'train.precision', 'fp32')
        WHEN precision <> 'fp32' THEN knob_of(case_name, 'train.precision', 'fp32')
    END AS knob
FROM places
JOIN compared_cases USING (session_id, case_name)
WHERE different > 0
