-- Cases with `scaling` strong or weak, sizes with an ok repeat, oversubscribed ones left out. Of placements with the same
-- n the one that a baseline would be taken from stands for n. Runs after run_stats.
WITH measured AS (
    SELECT * FROM scaling
    WHERE session_id IN (SELECT session_id FROM incoming_sessions)
        AND repeats > 0 AND NOT oversubscribed AND scaling.scaling <> 'none'
),
final AS (
    SELECT
        session_id, case_name, scaling, axis, workers, global_batch,
        throughput AS mean_throughput,
        -- Over another kind of device it would be no law's: its predictions would have an efficiency.
        CASE WHEN baseline_device_type = device_type THEN speedup END AS speedup
    FROM measured
    QUALIFY row_number() OVER (
        PARTITION BY session_id, case_name, workers ORDER BY nodes, ranks_per_node, threads
    ) = 1
)
SELECT * FROM final;
