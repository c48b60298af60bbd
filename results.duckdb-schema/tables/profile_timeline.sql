-- One row per slice of a profiled step of a rank: what the rank did when. No session has such rows
-- yet. All ranks have one clock, on which collectives of all ranks end at the same moment.
CREATE TABLE profile_timeline (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,                    -- 0-based, over all nodes
    node INTEGER,                    -- 0-based
    step INTEGER,                    -- same number as in profile
    slice INTEGER,                   -- 0-based; a step has 200 equal slices
    begin_ns BIGINT,                 -- begin of the slice; 0 is where the first rank begins the step
    slice_ns BIGINT,                 -- length of the slice
    compute_ns BIGINT,               -- time in the slice in which compute kernels ran
    communication_ns BIGINT,         -- time in the slice in which collectives ran
    exposed_communication_ns BIGINT  -- part of communication_ns in which no compute kernel ran
);
