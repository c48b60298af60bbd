-- The four phases of a rank add up to its step; means are over measured steps.
INSERT INTO run_rank_stats BY NAME
WITH incoming_steps AS (
    SELECT * FROM steps WHERE session_id IN (SELECT session_id FROM incoming_sessions) AND kind <> 'profiled'
),
final AS (
    SELECT
        session_id, run_id, attempt, rank,
        any_value(node) AS node,
        count(*) FILTER (kind = 'measured') AS measured_steps,
        max(start_ns + step_ns) FILTER (kind = 'measured') - min(start_ns) FILTER (kind = 'measured') AS span_ns,
        avg(step_ns) FILTER (kind = 'measured') AS step_ns_mean,
        avg(data_ns) FILTER (kind = 'measured') AS data_ns_mean,
        avg(forward_ns) FILTER (kind = 'measured') AS forward_ns_mean,
        avg(backward_ns) FILTER (kind = 'measured') AS backward_ns_mean,
        avg(optimizer_ns) FILTER (kind = 'measured') AS optimizer_ns_mean,
        max(memory_allocated_bytes) AS memory_allocated_bytes_peak,
        max(memory_reserved_bytes) AS memory_reserved_bytes_peak,
        avg(memory_allocated_bytes) FILTER (kind = 'measured') AS memory_allocated_bytes_mean,
        avg(memory_reserved_bytes) FILTER (kind = 'measured') AS memory_reserved_bytes_mean
    FROM incoming_steps
    GROUP BY session_id, run_id, attempt, rank
)
SELECT * FROM final;
