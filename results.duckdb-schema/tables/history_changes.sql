-- One row per change of level in the history of a suite: a case and placement became slower or faster than in earlier
-- sessions with the same settings on the same device model, or all of them together did; case_name is then null.
-- analysis/levels finds them at load. A level is the median of up to 20 sessions since the last change; a session
-- counts with the median of its repeats. Sessions with more ranks than slots or with an odd run (odd_runs) are left
-- out. docs/methodology/sessions.md has the test.
CREATE TABLE history_changes (
    suite VARCHAR,
    session_id VARCHAR,            -- session that shows the change
    session_order INTEGER,         -- as in history
    case_name VARCHAR,             -- null: all cases together
    nodes INTEGER,                 -- null: all cases together
    ranks_per_node INTEGER,        -- null: all cases together
    threads INTEGER,               -- null: all cases together
    direction VARCHAR,             -- slower, faster
    ratio DOUBLE,                  -- throughput ÷ level, of the sessions from first_order on
    ratio_lo DOUBLE,
    ratio_hi DOUBLE,
    first_order INTEGER,           -- session_order of the first session at the new level: up to two before this one
    first_session_id VARCHAR,      -- that session
    level_first_order INTEGER,     -- session_order of the oldest session of the level
    level_last_order INTEGER,      -- session_order of its newest session
    level_session_id VARCHAR,      -- that session
    returns BOOLEAN,               -- whether it goes back to the level before the last change
    assumed BOOLEAN,  -- whether the spread between sessions is taken to be 1 %, because too few sessions show it
    placements INTEGER,            -- number of cases and placements that moved together; null: a single case
    compared_placements INTEGER,   -- number of those that have a level; null: a single case
    cases INTEGER,                 -- number of cases that have a level; null: a single case
    device_name VARCHAR
);
