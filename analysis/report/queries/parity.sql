-- One row per case and placement other than its baseline: whether its repeats trained as the baseline's did. The
-- repeat that differs most represents all; if several do, the first.
SELECT
    case_name,
    placement,
    any_value(baseline_placement) AS baseline_placement,
    any_value(precision) AS precision,
    count(*) AS repeats,
    count(*) FILTER (verdict = 'same') AS same,
    count(*) FILTER (verdict = 'different') AS different,
    min(steps_compared) AS steps_compared,
    max(largest_relative_difference) AS largest_relative_difference,
    arg_max(at_step, (largest_relative_difference, -repeat)) AS at_step,
    arg_max(repeat, (largest_relative_difference, -repeat)) FILTER (largest_relative_difference IS NOT NULL)
        AS of_repeat,
    any_value(tolerance) AS tolerance,
    string_agg(DISTINCT reason, '; ' ORDER BY reason) AS reasons,
    arg_max(final_loss_relative_difference, (abs(final_loss_relative_difference), -repeat))
        AS final_loss_relative_difference
FROM loss_parity
WHERE session_id = $session_id
GROUP BY case_name, workers, nodes, ranks_per_node, threads, placement
ORDER BY case_name, workers, nodes, threads;
