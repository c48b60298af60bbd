-- One row per case and placement that is compared on the way to a target, and factor of its efficiency, with the product
-- last; a bound is drawn at the end that is known.
WITH compared AS (
    SELECT *, case_name || ' ' || placement AS label
    FROM target_efficiency
    WHERE session_id = $session_id AND NOT is_baseline AND coalesce(efficiency, efficiency_lo, efficiency_hi) > 0
),
factors AS (
    SELECT *, 1 AS part_order, 'throughput per worker' AS part, throughput_factor AS value, throughput_factor_lo AS lo,
        throughput_factor_hi AS hi
    FROM compared
    UNION ALL
    SELECT *, 2, 'progress per example', examples_factor, examples_factor_lo, examples_factor_hi
    FROM compared
    UNION ALL
    SELECT *, 3, 'clock spent training', share_factor, share_factor_lo, share_factor_hi
    FROM compared
    UNION ALL
    SELECT *, 4, 'efficiency to the target', efficiency, efficiency_lo, efficiency_hi
    FROM compared
)
SELECT
    label, case_name, placement, workers, global_batch, part, part_order,
    coalesce(value, lo, hi) AS ratio,
    CASE WHEN value IS NOT NULL THEN lo END AS ratio_lo,
    CASE WHEN value IS NOT NULL THEN hi END AS ratio_hi,
    coalesce(CASE WHEN value IS NULL THEN bound END, 'estimate') AS known,
    baseline_case, baseline_workers, runs, missed
FROM factors
WHERE coalesce(value, lo, hi) > 0
ORDER BY case_name, workers, nodes, threads, part_order;
