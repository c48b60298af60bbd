-- One row per file that a load has seen: by size and time of change a session's next load knows that nothing is new.
CREATE TABLE loaded_files (
    folder VARCHAR,                -- of the session
    path VARCHAR,                  -- relative to the results folder
    size_bytes BIGINT,             -- when it was loaded
    mtime_ns BIGINT,               -- time of change when it was loaded, since 1970
    problem VARCHAR                -- why the file was left out; null where it was loaded
);
