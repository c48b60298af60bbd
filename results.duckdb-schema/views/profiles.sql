-- One row per session, case and placement with profiled steps: their communication, and the step without stragglers.
CREATE OR REPLACE VIEW profiles AS
SELECT
    session_id, case_name, nodes, ranks_per_node, threads, world_size, placement,
    point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
    profiled_step_ms, communication_ms, exposed_communication_ms, compute_ms, overlap, exposed_share,
    replayed_ms, even_ms, without_slowest_ms, slowest, slowdown, slowest_share
FROM communication
FULL JOIN step_without_stragglers
    USING (session_id, case_name, nodes, ranks_per_node, threads, world_size, placement);
