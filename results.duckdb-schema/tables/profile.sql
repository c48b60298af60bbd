-- One row per profiled step of a rank; profiled steps come after the measured ones.
CREATE TABLE profile (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,                    -- 0-based, over all nodes
    node INTEGER,                    -- 0-based
    step INTEGER,                    -- as in steps, where its kind is profiled
    step_ns BIGINT,                  -- begin to end of the step as the profiler saw it
    communication_ns BIGINT,         -- union of collective intervals
    exposed_communication_ns BIGINT, -- that minus the union of compute
    compute_ns BIGINT                -- union of the intervals with a compute kernel
);
