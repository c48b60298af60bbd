-- One row per session, case and n that scaling laws are fitted to.
-- Cases with `scaling` strong or weak, sizes with an ok repeat, oversubscribed ones left out. Of placements with the
-- same n the one that a baseline would be taken from stands for n.
WITH measured AS (
    SELECT * FROM scaling
    WHERE repeats > 0 AND NOT oversubscribed AND scaling.scaling <> 'none'
),
final AS (
    SELECT
        session_id, case_name, scaling, axis, workers, global_batch,
        throughput AS mean_throughput,  -- in the unit of throughput; geometric mean over ok repeats
        -- Over another kind of device it would be no law's: its predictions would have an efficiency.
        CASE WHEN baseline_device_type = device_type THEN speedup END AS speedup
        -- scaling: strong, weak
        -- axis: of the case's workers: ranks, threads
        -- workers: the n of that axis
        -- global_batch: examples of a step over all ranks
        -- speedup: as in scaling; null where its baseline has no ok run, or ran on another kind of device
    FROM measured
    QUALIFY row_number() OVER (
        PARTITION BY session_id, case_name, workers ORDER BY nodes, ranks_per_node, threads
    ) = 1
)
SELECT * FROM final;
