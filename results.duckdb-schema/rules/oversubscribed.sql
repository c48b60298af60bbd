-- title: More ranks than slots
-- severity: warning
-- meaning: Ranks had to share GPUs or cores, so each got only a fraction of one. The results describe this sharing,
--   not how the training scales if each rank has its own device. These rows have no verdict.
--
-- Fires at every placement that ran under --oversubscribe with more ranks than slots.
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    format(
        '{} ran with {} ranks{}, more than the machine has slots for', case_name, world_size,
        if(nodes > 1, format(' over {} nodes', nodes), '')
    ) AS evidence,
    'Request as many GPUs (on CPUs: cores) as there are ranks, or measure fewer ranks.' AS advice
FROM scaling
WHERE oversubscribed AND throughput IS NOT NULL
