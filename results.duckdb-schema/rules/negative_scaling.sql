-- title: Slower on more workers
-- severity: critical
-- meaning: Adding workers made training slower: whatever they add is less than what it costs to keep them in step, so
--   that the smaller number gives more for less.
--
-- Fires where throughput is below that of the next smaller size: by points alone with a single repeat, otherwise
-- beyond what repeats vary (verdict `retrograde` of scaling). What eats the time, other findings say.
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(speedup_lo IS NULL, 'likely', 'shown') AS certainty,
    1 - efficiency AS cost,
    format(
        '{} {} on {} {}, where {} on {} gave {}',
        number_text(throughput), throughput_unit, workers, axis, baseline_case, baseline_workers,
        number_text(throughput * baseline_workers / speedup)
    ) AS evidence,
    'Stay at the smaller number, or give each worker more to do in a step: what else was found says which part of '
    'the step to change.' AS advice
FROM scaling
WHERE verdict = 'retrograde'
