-- One row per session folder, from its session.json.
CREATE TABLE sessions (
    session_id VARCHAR,            -- UTC start, suite and four hex digits, or the name given by --session
    suite VARCHAR,                 -- the suite file's name without its ending
    title VARCHAR,                 -- of the suite
    why VARCHAR,                   -- the question that the suite answers
    created_at TIMESTAMP,          -- UTC
    finished_at TIMESTAMP,         -- UTC; null while the session runs
    command VARCHAR[],             -- the command line that began it, word by word
    quick BOOLEAN,                 -- whether the suite's quick section was merged in
    tags VARCHAR[],                -- given by --tag
    resolved JSON,                 -- the suite after quick, --set and matrix
    slots JSON,                    -- what the machine could host
    imported JSON                  -- the files that `bench import` read, with their SHA-256; null where it was measured here
);
