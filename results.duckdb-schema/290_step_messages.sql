-- One row per session, case of communication_points and operation in an optimizer step: what a rank sends, by the
-- strategy and its options; derived/step_messages.sql fills it at load. A case whose messages cannot be known
-- (PowerSGD, offloading, units not known) has none.
CREATE TABLE step_messages (
    session_id VARCHAR,
    case_name VARCHAR,
    op VARCHAR,                    -- all_reduce, all_gather, reduce_scatter
    phase VARCHAR,                 -- that hides it: forward, backward, last_backward (of the last micro-batch)
    scope VARCHAR,                 -- ranks: all, or those of a group of shards; groups: one rank of each group
    messages INTEGER,              -- per step, of equal size
    message_bytes BIGINT           -- of all messages of the step; of scope groups before it is divided by a group's ranks
);
