-- One row per run that laws are fitted to: ok runs of cases with strong or weak scaling, not oversubscribed. Among
-- placements with the same n, only the one that would serve as a baseline is used.
WITH placed AS (
    SELECT
        session_id, case_name, workers, nodes, ranks_per_node, threads,
        -- Null where the ratio is no efficiency: otherwise predictions would have one.
        CASE WHEN efficiency IS NOT NULL THEN baseline_throughput / baseline_workers END AS throughput_of_one,
        throughput AS measured_throughput,
        CASE WHEN efficiency IS NOT NULL THEN speedup END AS measured_speedup
    FROM scaling
    WHERE repeats > 0 AND NOT oversubscribed AND scaling_mode <> 'none'
    QUALIFY row_number() OVER (
        PARTITION BY session_id, case_name, workers ORDER BY nodes, ranks_per_node, threads
    ) = 1
),
measured AS (
    SELECT * FROM run_summary
    WHERE status = 'ok' AND throughput > 0
),
final AS (
    SELECT
        session_id, case_name, run_id, scaling_mode, axis, workers, nodes, global_batch,
        round,              -- round of repeats to which the run belongs; null if unknown
        throughput,         -- of the run, in the unit of throughput
        throughput_of_one,  -- throughput that corresponds to a speedup of 1 in this case; null without an efficiency
        measured_throughput,  -- of the run's size, as in scaling
        measured_speedup    -- speedup of the run's size, as in scaling; null without an efficiency
        -- scaling_mode: strong, weak
        -- axis: what the case's workers are: ranks, threads
        -- workers: number of ranks or threads along the axis
        -- global_batch: examples per step, over all ranks
    FROM measured
    JOIN placed USING (session_id, case_name, workers, nodes, ranks_per_node, threads)
)
SELECT * FROM final;
