-- One row per session folder, from its session.json.
CREATE TABLE sessions (
    session_id VARCHAR,
    suite VARCHAR,
    title VARCHAR,
    why VARCHAR,
    created_at TIMESTAMP,          -- UTC
    finished_at TIMESTAMP,         -- UTC; null while the session runs
    command VARCHAR[],
    quick BOOLEAN,
    tags VARCHAR[],
    resolved JSON,                 -- the suite after quick, --set and matrix
    slots JSON                     -- what the machine could host
);
