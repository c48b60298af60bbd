-- One row per profiled step that was replayed without its stragglers. Only of imported traces of all ranks whose
-- collectives match, and of imported operations.
CREATE TABLE profile_replays (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    step INTEGER,                    -- same number as in profile
    step_ns BIGINT,                  -- the step as it was, of the slowest rank
    replayed_ns BIGINT,              -- replayed with the measured durations; waits follow from the other ranks
    -- even_ns: replayed with the same duration for all operations of a kind: the mean of work, the median of transfers
    even_ns BIGINT,
    -- without_slowest_ns: replayed with the measured durations, but those of the slowest 3 % of workers as in even_ns
    without_slowest_ns BIGINT,
    slowest VARCHAR                  -- those workers: ranks, or REPLICA/STAGE of a pipeline
);
