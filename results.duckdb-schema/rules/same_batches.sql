-- title: All ranks train on the same examples
-- severity: critical
-- meaning: Data parallelism divides the global batch among the ranks. If all of them get the same examples, their
--   gradients are equal too, and every rank but one repeats work. Throughput still counts the examples of all ranks, so
--   the speedup is not one of training.
--
-- Fires if a run's ranks all had the same first batch, unless its strategy makes all of them share one.
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    format('the first batch was the same on all {} ranks', world_size) AS evidence,
    CASE
        WHEN workload = 'command'
        THEN 'Give each rank its own part of the data: a DistributedSampler for the DataLoader, or another seed for each '
        || 'rank where examples are drawn.'
        ELSE 'Let batch() return the examples at its places. If it draws random numbers, derive them from the seed and the '
        || 'keys: torch''s default generator starts with the same seed on every rank.'
    END AS advice
FROM runs
WHERE same_batch AND probe IS NOT TRUE
GROUP BY session_id, case_name, nodes, ranks_per_node, threads, world_size, workload
