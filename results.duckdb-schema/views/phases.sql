-- One row per session, case, placement and phase of a step: data, forward, backward, optimizer. Means over ranks,
-- measured steps and ok repeats; the four add up to a rank's mean step.
CREATE OR REPLACE VIEW phases AS
WITH summaries AS (
    SELECT * FROM run_summary WHERE status = 'ok'
),
points AS (
    SELECT
        session_id, suite, case_name, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        placement, point_id,
        count(*) AS repeats,  -- number of ok runs
        avg(data_ms) AS data,
        avg(forward_ms) AS forward,
        avg(backward_ms) AS backward,
        avg(optimizer_ms) AS optimizer
    FROM summaries
    GROUP BY ALL
),
long AS (
    SELECT * EXCLUDE (data, forward, backward, optimizer), unnest(
            ['data', 'forward', 'backward', 'optimizer']
        ) AS phase, unnest([data, forward, backward, optimizer]) AS phase_ms  -- mean time per step
    FROM points
),
known AS (
    SELECT * FROM long WHERE phase_ms IS NOT NULL
),
final AS (
    SELECT
        *,
        -- phase_order: 1 to 4, in the order of the step
        -- phase: data, forward, backward, optimizer
        list_position(['data', 'forward', 'backward', 'optimizer'], phase) AS phase_order,
        -- share: share of the four together
        phase_ms / sum(phase_ms) OVER (
            PARTITION BY session_id, case_name, nodes, ranks_per_node, threads
        ) AS share
    FROM known
)
SELECT * FROM final;
