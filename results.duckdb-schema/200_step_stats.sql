-- One row per step of an attempt, over its ranks; derived/step_stats.sql fills it at load.
CREATE TABLE step_stats (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    step INTEGER,
    kind VARCHAR,
    ranks INTEGER,                 -- that completed the step
    start_ns BIGINT,               -- earliest begin over ranks
    end_ns BIGINT,                 -- E(s), the latest end over ranks
    step_ns BIGINT,                -- E(s) - E(s-1)
    rank_step_ns_min BIGINT,       -- the fastest rank's own step
    rank_step_ns_mean DOUBLE,      -- mean over ranks of their own steps
    rank_step_ns_max BIGINT,       -- the slowest rank's own step
    slowest_rank INTEGER,          -- the rank of rank_step_ns_max
    before_wait_ns_median BIGINT,  -- of a rank's time before it first waits for others; of two middle ranks the lesser
    before_wait_ns_max BIGINT,     -- of the rank that takes longest; null at one rank, and where waits are not known
    before_wait_ns_max_without_data BIGINT, -- what before_wait_ns_max would be, had no rank to wait for data
    last_to_wait_rank INTEGER,     -- that rank: the others wait for it
    loss DOUBLE,                   -- mean over ranks; null where it is not finite on any rank
    nonfinite_losses INTEGER,      -- ranks whose loss was NaN or infinite
    memory_allocated_bytes BIGINT, -- largest over ranks
    memory_reserved_bytes BIGINT   -- largest over ranks
);
