-- One row per kind of collective operation in a profiled step of a rank.
CREATE TABLE profile_collectives (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,                  -- 0-based, over all nodes
    node INTEGER,                  -- 0-based
    step INTEGER,                  -- same number as in profile
    op VARCHAR,                    -- all_reduce, all_gather, reduce_scatter, broadcast, ...
    calls INTEGER,                 -- calls in the step; several kernels of one call count once
    message_bytes BIGINT,          -- sum over all calls, counted as in collectives; null: unknown
    time_ns BIGINT                 -- union of the calls' intervals
);
