-- One row per timed collective operation of a rank.
CREATE TABLE collectives (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,                  -- 0-based, over all nodes; null if measured elsewhere, over all ranks
    node INTEGER,                  -- 0-based
    op VARCHAR,                    -- all_reduce, all_gather, reduce_scatter, broadcast
    iteration INTEGER,             -- 0-based
    message_bytes BIGINT,          -- size of the input or output, whichever is larger, as nccl-tests counts it
    time_ns BIGINT,                -- time of one operation; after computation with the wait for late ranks
    computation_ns BIGINT,         -- time of the rank's computation before it; null if it follows another operation
    cpu_ns BIGINT,                 -- CPU time of the rank's process for it, mean over the iterations; null if measured elsewhere
    algorithm_gbps DOUBLE,         -- message_bytes ÷ time, 10^9 bytes per second; null after computation
    bus_gbps DOUBLE                -- bandwidth of the slowest link as nccl-tests defines it, likewise
);
