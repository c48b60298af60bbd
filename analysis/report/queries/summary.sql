-- One row per case and placement that was run: the scaling view with the peak memory of a rank.
SELECT
    scaling.* EXCLUDE (karp_flatt, gustafson),
    memory.peak_memory_allocated_bytes
FROM scaling
LEFT JOIN memory USING (session_id, case_name, nodes, ranks_per_node, threads)
WHERE session_id = $session_id
ORDER BY scaling.case_name, scaling.workers, scaling.nodes, scaling.threads;
