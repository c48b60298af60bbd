-- One row per kind of device, operation and placement whose fits the predictions use (from fabric_fits, newest
-- session; if it has both, after computation), and one per locality (within a node, across nodes) for placements that
-- were not measured.
CREATE OR REPLACE VIEW fabric_lines AS
WITH fits AS (
    SELECT
        fabric_fits.*,
        created_at,
        CASE WHEN nodes > 1 THEN 'across_nodes' ELSE 'within_node' END AS locality,
        -- NCCL uses the faster of ring and tree: for messages without bytes the tree; gloo uses rings.
        CASE
            WHEN device_type = 'cpu' THEN latency_steps_of(op, world_size, 'ring')
            ELSE coalesce(latency_steps_of(op, world_size, 'tree'), latency_steps_of(op, world_size, 'ring'))
        END AS steps
    FROM fabric_fits
    JOIN sessions USING (session_id)
    WHERE latency_s IS NOT NULL
),
of_placements AS (
    SELECT
        'measured' AS fabric,
        session_id AS fabric_session_id, device_type, device_name, op, locality, nodes, ranks_per_node,
        created_at, after_computation, latency_s, NULL AS step_latency_s, bus_bytes_per_s, relative_error, cpu_cores
    FROM fits
    QUALIFY row_number() OVER (
        PARTITION BY device_type, device_name, op, nodes, ranks_per_node
        ORDER BY created_at DESC, session_id DESC, after_computation DESC
    ) = 1
),
-- Latency per message: least squares of relative errors through zero.
of_localities AS (
    SELECT
        'extrapolated' AS fabric,
        session_id AS fabric_session_id, device_type, device_name, op, locality,
        NULL AS nodes, NULL AS ranks_per_node,
        any_value(created_at) AS created_at,
        after_computation,
        NULL AS latency_s,
        coalesce(
            sum(steps / latency_s) FILTER (latency_s > 0) / sum((steps / latency_s) ** 2) FILTER (latency_s > 0), 0
        ) AS step_latency_s,
        arg_max(coalesce(bus_bytes_per_s, 'infinity'), (world_size, nodes)) AS bus_bytes_per_s,
        NULL AS relative_error,
        arg_max(cpu_cores, (world_size, nodes)) AS cpu_cores
    FROM fits
    GROUP BY session_id, device_type, device_name, op, locality, after_computation
),
newest_of_localities AS (
    SELECT * FROM of_localities
    QUALIFY row_number() OVER (
        PARTITION BY device_type, device_name, op, locality
        ORDER BY created_at DESC, fabric_session_id DESC, after_computation DESC
    ) = 1
),
all_lines AS (
    SELECT * FROM of_placements UNION ALL SELECT * FROM newest_of_localities
),
final AS (
    SELECT
        fabric,            -- measured: at that placement; extrapolated: from the placements of the locality
        fabric_session_id, -- session in which the collectives were timed
        device_type, device_name, op, locality,
        nodes,             -- null if extrapolated
        ranks_per_node,    -- null if extrapolated
        created_at,
        after_computation, -- whether each rank computed before each operation
        latency_s,
        step_latency_s,    -- per message that must follow another in an operation; null if measured
        coalesce(bus_bytes_per_s, 'infinity') AS bus_bytes_per_s,  -- infinity if time does not grow with bytes
        relative_error,
        cpu_cores
    FROM all_lines
)
SELECT * FROM final;
