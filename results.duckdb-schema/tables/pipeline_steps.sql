-- One row per training step of a rank that has stages of a pipeline, warm-up included.
CREATE TABLE pipeline_steps (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,        -- 0-based, over all nodes
    node INTEGER,        -- 0-based
    step INTEGER,        -- 0-based, as in steps
    pipeline_ns BIGINT,  -- forward and backward of all micro-batches, from the first wait to the last gradient
    idle_ns BIGINT       -- part of pipeline_ns in which the rank waited for another stage to send or to receive
);
