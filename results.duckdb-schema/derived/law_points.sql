-- One row per session, case and n that scaling laws are fitted to. Only cases with strong or weak scaling and sizes
-- with an ok repeat that are not oversubscribed. Among placements with the same n, only the one that would serve as a
-- baseline is used.
WITH measured AS (
    SELECT * FROM scaling
    WHERE repeats > 0 AND NOT oversubscribed AND scaling.scaling <> 'none'
),
final AS (
    SELECT
        session_id, case_name, scaling, axis, workers, global_batch,
        throughput AS mean_throughput,  -- geometric mean over ok repeats, in the unit of throughput
        -- Null where it is no efficiency: otherwise predictions would have one.
        CASE WHEN efficiency IS NOT NULL THEN speedup END AS speedup
        -- scaling: strong, weak
        -- axis: what the case's workers are: ranks, threads
        -- workers: number of ranks or threads along the axis
        -- global_batch: examples per step, over all ranks
        -- speedup: as in scaling; null without an efficiency
    FROM measured
    QUALIFY row_number() OVER (
        PARTITION BY session_id, case_name, workers ORDER BY nodes, ranks_per_node, threads
    ) = 1
)
SELECT * FROM final;
