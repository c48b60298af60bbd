-- One row per profiled step of a rank; profiled steps follow the measured ones.
CREATE TABLE profile (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,                    -- 0-based, over all nodes
    node INTEGER,                    -- 0-based
    step INTEGER,                    -- same number as in steps, where its kind is profiled
    step_ns BIGINT,                  -- duration of the step as seen by the profiler
    communication_ns BIGINT,         -- union of the intervals of collectives
    exposed_communication_ns BIGINT, -- communication_ns minus the time in which compute kernels also ran
    compute_ns BIGINT                -- union of the intervals of compute kernels
);
