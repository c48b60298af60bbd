-- One row per training step of a rank and loss that the workload names besides the one it trains, warm-up included, from
-- the first step that names it. If a rank is killed, its completed steps have their rows.
CREATE TABLE named_losses (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,        -- 0-based, over all nodes
    node INTEGER,        -- 0-based
    step INTEGER,        -- 0-based, as in steps
    name VARCHAR,        -- the workload's name for it
    loss DOUBLE          -- mean over this rank's batch; null if it is NaN, or if the workload did not give it
);
