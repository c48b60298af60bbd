-- One row per session, case and placement under weak scaling over ranks (not the baseline) whose computation is known
-- here and at the baseline in the same way: how much longer a rank computes for the same number of examples, beyond the
-- term clocks of efficiency_loss, whose term work has the cost.
WITH losses AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, known_by,
        CASE WHEN known_by = 'estimated' THEN 'one rank' ELSE known_by END AS baseline_known_by,
        coalesce(sum(lost_ms) FILTER (term = 'clocks'), 0) AS clocks_ms
    FROM efficiency_loss
    WHERE efficiency_loss.scaling_mode = 'weak' AND axis = 'ranks' AND NOT oversubscribed AND known_by IS NOT NULL
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads, known_by
),
computations AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, known_by,
        list(computation_ms) FILTER (computation_ms IS NOT NULL) AS of_runs
    FROM run_parts
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads, known_by
),
middles AS (
    SELECT * EXCLUDE (of_runs), median_interval(of_runs).point AS computation_ms FROM computations
),
parts AS (
    SELECT * FROM middles WHERE computation_ms > 0
),
batches AS (
    SELECT session_id, case_name, nodes, ranks_per_node, threads, batch_per_rank FROM scaling
),
final AS (
    SELECT
        losses.session_id, losses.case_name, sizes.workers, sizes.world_size, losses.nodes, losses.ranks_per_node,
        sizes.point_id,
        losses.threads, sizes.baseline_case, sizes.baseline_workers,
        losses.known_by,               -- as in run_parts, at this size; if estimated, the baseline is one rank
        here.computation_ms,           -- in a rank's mean step, of the median run (below six runs their mean)
        base.computation_ms AS baseline_computation_ms,  -- the same at the baseline
        losses.clocks_ms,              -- part of computation_ms that lower clocks cost here; 0 if clocks are unknown
        -- growth: increase relative to the baseline's computation, without clocks_ms; negative: computation is shorter
        (here.computation_ms - losses.clocks_ms) / base.computation_ms - 1 AS growth
    FROM losses
    JOIN scaling AS sizes USING (session_id, case_name, nodes, ranks_per_node, threads)
    JOIN parts AS here USING (session_id, case_name, nodes, ranks_per_node, threads, known_by)
    JOIN parts AS base
        ON base.session_id = losses.session_id AND base.case_name = sizes.baseline_case
        AND base.nodes = sizes.baseline_nodes AND base.ranks_per_node = sizes.baseline_ranks_per_node
        AND base.threads = sizes.baseline_threads AND base.known_by = losses.baseline_known_by
    JOIN batches AS of_base
        ON of_base.session_id = base.session_id AND of_base.case_name = base.case_name
        AND of_base.nodes = base.nodes AND of_base.ranks_per_node = base.ranks_per_node
        AND of_base.threads = base.threads AND of_base.batch_per_rank = sizes.batch_per_rank
)
SELECT * FROM final;
