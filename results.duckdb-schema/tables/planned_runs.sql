-- One row per run that a session set out to do, from session.json's plan.
CREATE TABLE planned_runs (
    session_id VARCHAR,
    run_id VARCHAR,
    case_name VARCHAR,
    strategy VARCHAR,
    scaling VARCHAR,
    axis VARCHAR,
    workers INTEGER,
    world_size INTEGER,
    nodes INTEGER,
    ranks_per_node INTEGER,
    threads INTEGER,
    repeat INTEGER,
    probe BOOLEAN,                 -- of find_batch: it comes before the case's measured runs
    skip_reason VARCHAR            -- why this machine cannot host it; null where it can
);
