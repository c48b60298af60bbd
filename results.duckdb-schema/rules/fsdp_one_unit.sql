-- title: FSDP shards the model as one unit
-- severity: warning
-- meaning: FSDP gathers the parameters of one unit at a time, computes with them and frees them. If the whole model is
--   one unit, every rank holds all parameters at once, and nothing can be gathered while something else is computed:
--   sharding then saves only the optimizer's memory.
--
-- Fires if a model is sharded over two ranks or more and has no blocks.
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    format('the model is one unit of {:,} parameters', any_value(parameters)) AS evidence,
    'Return the model''s layers from blocks() of the workload: each then is a unit.' AS advice
FROM runs
WHERE strategy IN ('fsdp', 'fsdp1') AND units = 1 AND world_size > 1 AND status = 'ok' AND probe IS NOT TRUE
GROUP BY session_id, case_name, nodes, ranks_per_node, threads
