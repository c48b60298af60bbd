-- One row per step of a rank in the self-check, which measures the overhead of recording. These steps follow the
-- measured ones and are in no other table.
CREATE TABLE selfcheck (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,        -- 0-based, over all nodes
    node INTEGER,        -- 0-based
    step INTEGER,        -- continues the numbers of the measured steps
    pair INTEGER,        -- 0-based; one bare and one instrumented step, in random order
    kind VARCHAR,        -- bare: no time stamps, no reading of the loss, no row; instrumented: like a measured step
    step_ns BIGINT       -- duration by the host's clock, from idle device to idle device
);
