-- One row per rank of an attempt, over its measured steps; derived/run_rank_stats.sql fills it at load.
CREATE TABLE run_rank_stats (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,
    node INTEGER,
    measured_steps INTEGER,        -- that the rank completed
    span_ns BIGINT,                -- last end - first begin - validations in between, on the rank's own clock
    step_ns_mean DOUBLE,           -- mean of the rank's own steps
    data_ns_mean DOUBLE,           -- of the phase data, over measured steps
    forward_ns_mean DOUBLE,        -- of the phase forward, over measured steps
    backward_ns_mean DOUBLE,       -- of the phase backward, over measured steps
    optimizer_ns_mean DOUBLE,      -- of the phase optimizer, over measured steps
    memory_allocated_bytes_peak BIGINT, -- warm-up included: it must fit too
    memory_reserved_bytes_peak BIGINT, -- of what the allocator held, warm-up included
    memory_allocated_bytes_mean DOUBLE, -- over measured steps
    memory_reserved_bytes_mean DOUBLE, -- over measured steps
    memory_growth_bytes_per_step DOUBLE, -- of the floor from one sixth of the measured steps to the next, the least
    memory_grows BOOLEAN,          -- whether floor and mean rise with every sixth, by 1 % in all; null below 8 readings
    times_last BIGINT              -- measured steps in which it was the last to wait for the others; null where unknown
);
