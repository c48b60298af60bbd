-- title: More workers train a different model
-- severity: critical
-- meaning: The same batch spread over more workers must give the same loss up to rounding. If it does not, these
--   workers train something else, and their speed is not comparable.
--
-- Fires if a repeat has the verdict `different` in loss_parity: within its first 20 steps, the loss differs by more
-- than rounding in this precision explains, or is NaN or infinite on one side alone. With two such repeats it is shown,
-- with one it is likely. A single repeat that is not finite is a finding of nonfinite_loss alone.
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
        count(*) FILTER (verdict = 'different' AND reason IS NULL) AS different_and_finite,
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
    format('in {} of {} repeats the losses differ from those of {}: ', different, repeats, baseline_placement)
    || coalesce(
        format(
            'by up to {} %, in step {}, while rounding explains at most {} %',
            number_text(100 * difference), at_step, number_text(100 * tolerance)
        ),
        reason
    ) AS evidence,
    CASE
        WHEN compression <> 'none'
        THEN 'Do not compress gradients: compression loses a part of them, and a different part at each number of '
            'ranks.'
        WHEN reduce_dtype IN ('bf16', 'fp16')
        THEN 'Reduce gradients in fp32: here their sums depend on the number of ranks.'
        WHEN precision <> 'fp32'
        THEN 'Repeat it in fp32. If the losses then agree, the cause was rounding. If not, look for anything that '
            'depends on the rank: the order of the examples, seeds, random numbers in batch(), dropout, or a loss that '
            'is not a mean over the examples.'
        ELSE 'Look for anything that depends on the rank but should not: the order of the examples, seeds, random '
            'numbers in batch(), dropout, or parameters that are not synchronised. The loss must be a mean over the '
            'examples: not a sum, and not a mean over tokens if the ranks have different numbers of tokens.'
    END AS advice,
    CASE
        WHEN compression <> 'none' THEN option_of(case_name, 'strategy.gradient_compression', 'none')
        WHEN reduce_dtype IN ('bf16', 'fp16') THEN option_of(case_name, 'strategy.reduce_dtype', 'fp32')
        WHEN precision <> 'fp32' AND has_one_precision THEN option_of_all(compared, 'train.precision', 'fp32')
        WHEN precision <> 'fp32' THEN option_of(case_name, 'train.precision', 'fp32')
    END AS options
FROM places
JOIN compared_cases USING (session_id, case_name)
WHERE different >= 2 OR different_and_finite > 0
