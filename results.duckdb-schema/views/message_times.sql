-- One row per session, case, placement and operation of its steps (step_messages): the time it takes according to
-- fabric_lines, at the measured placements and at the next four doublings of the largest. These fill each node with the
-- most ranks that the session could host. time_s is null if no session has timed the operation on a device of that
-- name; operations between nodes need a timing between nodes.
CREATE OR REPLACE VIEW message_times AS
WITH slots AS (
    SELECT session_id, try_cast(slots->>'slots_per_node' AS INTEGER) AS slots_per_node FROM sessions
),
cases AS (
    SELECT
        session_id, case_name,
        any_value(scaling_mode) AS scaling_mode,
        any_value(device_type) AS device_type,
        any_value(device_name) AS device_name,
        any_value(shard_size) AS shard_size,
        any_value(global_batch) AS global_batch,
        max(world_size) AS largest,
        greatest(any_value(slots_per_node), arg_max(ranks_per_node, (world_size, ranks_per_node))) AS most_per_node
    FROM communication_points
    LEFT JOIN slots USING (session_id)
    GROUP BY session_id, case_name
),
doublings AS (
    SELECT *, largest * unnest([2, 4, 8, 16]) AS world_size FROM cases
),
sizes AS (
    SELECT session_id, case_name, 'measured' AS kind, world_size, nodes, ranks_per_node FROM communication_points
    UNION ALL
    SELECT
        session_id, case_name, 'predicted', world_size,
        ceil(world_size / most_per_node)::INTEGER,
        least(world_size, most_per_node)
    FROM doublings
    WHERE scaling_mode = 'weak' OR world_size <= global_batch
),
-- Ranks of a shard group are consecutive; one rank of each group communicates with those of the others.
grouped AS (
    SELECT
        session_id, case_name, kind, world_size, nodes, ranks_per_node, device_type, device_name,
        op, phase, scope, messages,
        least(world_size, coalesce(shard_size, world_size)) AS group_ranks,
        CASE WHEN scope = 'groups' THEN world_size // group_ranks ELSE group_ranks END AS op_ranks,
        CASE
            WHEN scope = 'groups' THEN least(op_ranks, nodes)
            ELSE ceil(group_ranks / ranks_per_node)::INTEGER
        END AS op_nodes,
        CASE WHEN scope = 'groups' THEN message_bytes / group_ranks ELSE message_bytes END AS message_bytes
    FROM sizes
    JOIN cases USING (session_id, case_name)
    JOIN step_messages USING (session_id, case_name)
),
best_lines AS (
    SELECT
        grouped.*,
        fabric, fabric_session_id, latency_s, step_latency_s, bus_bytes_per_s,
        message_bytes / messages AS bytes_each
    FROM grouped
    LEFT JOIN fabric_lines AS lines
        ON lines.device_type = grouped.device_type AND lines.op = grouped.op
        AND lines.device_name = grouped.device_name
        AND (
            lines.nodes IS NULL AND (locality = 'across_nodes') = (op_nodes > 1)
            OR lines.nodes = op_nodes AND lines.ranks_per_node * op_nodes = op_ranks
        )
    QUALIFY row_number() OVER (
        PARTITION BY session_id, case_name, kind, grouped.nodes, grouped.ranks_per_node, grouped.op, phase, scope
        ORDER BY fabric = 'measured' DESC, created_at DESC
    ) = 1
),
final AS (
    SELECT
        session_id, case_name, kind, world_size,
        nodes,                        -- number of nodes used
        ranks_per_node,               -- ranks per node, the same on every node
        op, phase, scope,
        op_ranks,                     -- number of ranks that take part in one operation
        op_nodes,                     -- number of nodes that these ranks use
        CASE WHEN op_ranks > 1 THEN messages ELSE 0 END AS messages,
        CASE WHEN op_ranks > 1 THEN message_bytes ELSE 0 END AS message_bytes,  -- sum over all messages of a step
        fabric, fabric_session_id,
        -- time_s: of all messages of a step, one after the other
        messages * CASE
            WHEN op_ranks = 1 THEN 0
            WHEN fabric = 'measured' THEN latency_s + bus_factor_of(op, op_ranks) * bytes_each / bus_bytes_per_s
            WHEN device_type = 'cpu'
            THEN communication_time_of(op, bytes_each, op_ranks, step_latency_s, bus_bytes_per_s, 'ring')
            ELSE least(
                communication_time_of(op, bytes_each, op_ranks, step_latency_s, bus_bytes_per_s, 'ring'),
                communication_time_of(op, bytes_each, op_ranks, step_latency_s, bus_bytes_per_s, 'tree')
            )
        END AS time_s
    FROM best_lines
)
SELECT * FROM final;
