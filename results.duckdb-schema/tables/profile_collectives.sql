-- One row per kind of collective operation in a profiled step of a rank.
CREATE TABLE profile_collectives (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,                  -- 0-based, over all nodes
    node INTEGER,                  -- 0-based
    step INTEGER,                  -- as in profile
    op VARCHAR,                    -- all_reduce, all_gather, reduce_scatter, broadcast, ...
    calls INTEGER,                 -- in the step; several kernels of one call are one
    message_bytes BIGINT,          -- of all calls together, counted as in collectives; null: not known
    time_ns BIGINT                 -- union of their intervals
);
