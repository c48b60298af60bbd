-- One row per step of a rank, warm-up included: what was measured, nothing derived.
CREATE TABLE steps (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,
    node INTEGER,
    step INTEGER,                  -- 0-based
    kind VARCHAR,                  -- warmup, measured, profiled
    start_ns BIGINT,               -- the rank's own monotonic clock, zero at the run's common barrier
    step_ns BIGINT,                -- the four phases add up to it
    data_ns BIGINT,
    forward_ns BIGINT,
    backward_ns BIGINT,
    optimizer_ns BIGINT,
    loss DOUBLE,                   -- this rank's own mean
    memory_allocated_bytes BIGINT, -- the step's peak; on a CPU the resident set, where read
    memory_reserved_bytes BIGINT
);
