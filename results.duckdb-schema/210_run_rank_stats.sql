-- One row per rank of an attempt, over its measured steps; derived/run_rank_stats.sql fills it at load.
CREATE TABLE run_rank_stats (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,
    node INTEGER,
    measured_steps INTEGER,
    span_ns BIGINT,                -- last end - first begin, on the rank's own clock
    step_ns_mean DOUBLE,
    data_ns_mean DOUBLE,
    forward_ns_mean DOUBLE,
    backward_ns_mean DOUBLE,
    optimizer_ns_mean DOUBLE,
    memory_allocated_bytes_peak BIGINT, -- warm-up included: it must fit too
    memory_reserved_bytes_peak BIGINT,
    memory_allocated_bytes_mean DOUBLE,
    memory_reserved_bytes_mean DOUBLE
);
