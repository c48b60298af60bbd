-- title: Faster than ideal: check the baseline
-- severity: warning
-- meaning: Efficiency above 100 % says that a worker does more at this size than alone. More often the baseline is
--   too slow: a cold start, other work on the machine, or more memory than its caches or its device hold.
--
-- Fires if the efficiency is above 105 %, by the lower end of its interval if there is one.
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(efficiency_lo IS NULL, 'likely', 'shown') AS certainty,
    efficiency AS magnitude,
    format(
        'efficiency is {}: {} {} are {} times as fast as {}',
        efficiency_text(efficiency, efficiency_lo, efficiency_hi), workers, axis,
        number_text(speedup / baseline_workers), baseline_workers
    ) AS evidence,
    'Measure the baseline again, with more warm-up steps and on a quiet machine, before you believe this efficiency.'
        AS advice,
    -- a worker's part of the work shrinks under strong scaling alone
    CASE WHEN scaling_mode = 'strong'
        THEN 'If it stays, each worker''s smaller part of the work may fit into caches or memory, which is a real gain.'
    END AS alternatives
FROM scaling
WHERE NOT is_baseline AND NOT oversubscribed AND verdict_of(coalesce(efficiency_lo, efficiency)) = 'superlinear'
