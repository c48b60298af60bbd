-- One row per timed collective operation of a run.
CREATE TABLE collectives (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    op VARCHAR,                    -- such as all_reduce
    message_bytes BIGINT,          -- per rank
    time_ns BIGINT,
    algorithm_gbps DOUBLE,         -- message size ÷ time
    bus_gbps DOUBLE                -- what the slowest link carried, as nccl-tests defines it
);
