-- One row per rank and kind of a pause of a command, in which the rank validates or saves. A validation goes from the end
-- of a training call to the start of the next one, without the usual time between these calls. No pause is part of a step.
CREATE TABLE pauses (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,        -- 0-based, over all nodes
    node INTEGER,        -- 0-based
    step INTEGER,        -- the step that follows
    kind VARCHAR,        -- validation: forward passes without gradients; saving: torch.save and the like
    pause_ns BIGINT      -- duration on this rank
);
