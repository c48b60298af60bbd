-- One row per session, case and placement under weak scaling over ranks (not the baseline) whose computation is known
-- there and at the baseline: how much longer a rank computes for as many examples.
CREATE OR REPLACE VIEW computation_growth AS
WITH sizes AS (
    SELECT
        session_id, case_name, workers, world_size, nodes, ranks_per_node, threads, batch_per_rank, is_baseline,
        baseline_case, baseline_workers, baseline_nodes
    FROM scaling
    WHERE scaling.scaling = 'weak' AND axis = 'ranks' AND NOT oversubscribed
),
parts AS (
    SELECT session_id, case_name, nodes, ranks_per_node, threads, step_ms, computation_ms
    FROM step_parts
    WHERE computation_ms > 0
),
known AS (
    SELECT * FROM sizes JOIN parts USING (session_id, case_name, nodes, ranks_per_node, threads)
),
final AS (
    SELECT
        known.session_id, known.case_name, known.workers, known.world_size, known.nodes, known.ranks_per_node,
        known.threads, known.baseline_case, known.baseline_workers,
        known.computation_ms,
        base.computation_ms AS baseline_computation_ms,  -- of a rank's mean step at the baseline
        known.computation_ms / base.computation_ms - 1 AS growth,  -- of the baseline's; below 0: it is shorter
        -- growth_share: of the mean step here, what the growth takes
        (known.computation_ms - base.computation_ms) / known.step_ms AS growth_share
    FROM known
    JOIN known AS base
        ON base.session_id = known.session_id AND base.case_name = known.baseline_case
        AND base.workers = known.baseline_workers AND base.nodes = known.baseline_nodes
        AND base.batch_per_rank = known.batch_per_rank
    WHERE NOT known.is_baseline
    QUALIFY row_number() OVER (
        PARTITION BY known.session_id, known.case_name, known.nodes, known.ranks_per_node, known.threads
        ORDER BY base.ranks_per_node, base.threads
    ) = 1
)
SELECT * FROM final;
