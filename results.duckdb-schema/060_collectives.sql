-- One row per timed collective operation of a run.
CREATE TABLE collectives (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    op VARCHAR,
    message_bytes BIGINT,
    time_ns BIGINT,
    algorithm_gbps DOUBLE,
    bus_gbps DOUBLE
);
