-- title: The ranks train independent copies of the model
-- severity: critical
-- meaning: In data parallelism all ranks combine their gradients in every step, and so train one model. Ranks that do
--   not combine them are separate trainings. Their examples per second say nothing about a distributed training, so
--   there is neither speedup nor efficiency.
--
-- Fires if the profiled steps of a command show no reduction of gradients over all ranks.
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    format('no gradients were reduced over all of the {} ranks in the profiled steps', world_size) AS evidence,
    'Let the script call torch.distributed.init_process_group() and wrap its model in DistributedDataParallel or '
    || 'fully_shard(). If it does, check that it reads RANK and WORLD_SIZE.' AS advice
FROM runs
WHERE ranks_train = 'independent copies' AND status = 'ok'
GROUP BY session_id, case_name, nodes, ranks_per_node, threads, world_size
