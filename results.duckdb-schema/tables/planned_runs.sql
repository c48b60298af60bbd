-- One row per run that a session planned, from the plan in session.json.
CREATE TABLE planned_runs (
    session_id VARCHAR,
    run_id VARCHAR,
    case_name VARCHAR,
    strategy VARCHAR,
    scaling_mode VARCHAR,
    axis VARCHAR,
    workers INTEGER,
    world_size INTEGER,
    nodes INTEGER,
    ranks_per_node INTEGER,
    threads INTEGER,
    repeat INTEGER,
    round INTEGER,                 -- 0-based round of the session; no size is twice in it; null: probes, imports without
    position INTEGER,              -- 0-based position in the round, in the order of running
    probe BOOLEAN,                 -- whether find_batch planned it as a probe, before the case's measured runs
    skip_reason VARCHAR            -- why this machine cannot host it; null if it can
);
