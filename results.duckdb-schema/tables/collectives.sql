-- One row per timed collective operation of a rank.
CREATE TABLE collectives (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,                  -- 0-based, over all nodes; null: measured elsewhere, over all ranks
    node INTEGER,                  -- 0-based
    op VARCHAR,                    -- all_reduce, all_gather, reduce_scatter, broadcast
    iteration INTEGER,             -- 0-based
    message_bytes BIGINT,          -- as nccl-tests counts it: of the whole input or output, whichever is larger
    time_ns BIGINT,                -- of one operation
    algorithm_gbps DOUBLE,         -- message_bytes ÷ time, 10^9 bytes per second
    bus_gbps DOUBLE                -- what the slowest link carried, 10^9 bytes per second, as nccl-tests defines it
);
