-- One row per step of a rank, warm-up included: what was measured, nothing derived.
CREATE TABLE steps (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,                  -- 0-based, over all nodes
    node INTEGER,                  -- 0-based
    step INTEGER,                  -- 0-based
    kind VARCHAR,                  -- warmup, measured; after them profiled, no_sync
    start_ns BIGINT,               -- the rank's own monotonic clock, zero at the run's common barrier
    step_ns BIGINT,                -- the four phases add up to it
    data_ns BIGINT,                -- waiting for the batch and copying it to the device
    forward_ns BIGINT,             -- model and loss
    backward_ns BIGINT,            -- gradients, with the communication that overlaps them
    optimizer_ns BIGINT,           -- clipping, optimizer, schedule, scaler, zero_grad
    loss DOUBLE,                   -- this rank's own mean
    memory_allocated_bytes BIGINT, -- the step's peak; on a CPU the resident set, where read
    memory_reserved_bytes BIGINT   -- what the CUDA allocator held at its peak in the step; null on a CPU
);
