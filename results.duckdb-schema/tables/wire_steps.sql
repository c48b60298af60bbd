-- One row per step of a rank whose messages were longer or shorter than the training's (`measure.wire`). These steps
-- follow the measured ones and are in no other table.
CREATE TABLE wire_steps (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,           -- 0-based, over all nodes
    node INTEGER,           -- 0-based
    step INTEGER,           -- continues the numbers of the measured steps
    round INTEGER,          -- 0-based; one step of each factor, in random order
    message_factor DOUBLE,  -- bytes of each message ÷ those of the training's; 0: no messages
    step_ns BIGINT          -- duration by the host's clock, from a barrier to the idle device
);
