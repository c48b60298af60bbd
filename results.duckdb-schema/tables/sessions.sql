-- One row per session folder, from its session.json.
CREATE TABLE sessions (
    session_id VARCHAR,            -- UTC start, suite and four hex digits, or the name given by --session
    suite VARCHAR,                 -- name of the suite's file, without its extension
    title VARCHAR,                 -- title of the suite
    why VARCHAR,                   -- question that the suite answers
    created_at TIMESTAMP,          -- UTC
    finished_at TIMESTAMP,         -- UTC; null while the session runs
    command VARCHAR[],             -- command line that started the session, word by word
    quick BOOLEAN,                 -- whether the suite's quick section was merged in
    run_order VARCHAR,             -- order of the runs of each round: random, fixed (--order); null if imported
    pauses VARCHAR,                -- count, leave-out: said by --pauses when the session was resumed; it holds over the runs' own
    tags VARCHAR[],                -- given by --tag
    resolved JSON,                 -- the suite after quick, --set and matrix
    slots JSON,                    -- slots that the machine offers
    imported JSON                  -- files that `bench import` read, with their SHA-256; null if measured here
);
