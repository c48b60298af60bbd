-- The seconds that one operation takes over n ranks, by the formulas of a ring or a tree: latency of each step that
-- follows another, and what the slowest link carries. A tree sends all of an all_reduce up and down again.
-- algorithm: ring, tree; null for what has no tree.
CREATE OR REPLACE MACRO communication_time_of(op, message_bytes, n, step_latency_s, bus_bytes_per_s, algorithm) AS (
    latency_steps_of(op, n, algorithm) * step_latency_s
        + CASE WHEN algorithm = 'tree' AND op = 'all_reduce' THEN 2 ELSE bus_factor_of(op, n) END
            * message_bytes / bus_bytes_per_s
);
