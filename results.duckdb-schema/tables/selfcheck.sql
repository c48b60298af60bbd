-- One row per step of a rank that tells what measuring costs; these steps come after the measured ones and are in no
-- other table.
CREATE TABLE selfcheck (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,        -- 0-based, over all nodes
    node INTEGER,        -- 0-based
    step INTEGER,        -- goes on after the last measured step
    pair INTEGER,        -- 0-based; a bare step and an instrumented one, in an order that was drawn
    kind VARCHAR,        -- bare: without stamps, without reading the loss, without a row; instrumented: as measured ones
    step_ns BIGINT       -- by the host's clock from outside, from an idle device to an idle device
);
