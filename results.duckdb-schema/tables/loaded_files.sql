-- One row per file that a load has seen. Size and modification time tell a session's next load whether anything is new.
CREATE TABLE loaded_files (
    folder VARCHAR,                -- session folder
    path VARCHAR,                  -- relative to the results folder
    size_bytes BIGINT,             -- size when the file was loaded
    mtime_ns BIGINT,               -- modification time when the file was loaded, since 1970
    problem VARCHAR                -- why the file was left out; null if it was loaded
);
