-- One row per step of a rank, warm-up included: measured values only, nothing derived.
CREATE TABLE steps (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,                  -- 0-based, over all nodes
    node INTEGER,                  -- 0-based
    step INTEGER,                  -- 0-based
    kind VARCHAR,                  -- warmup, measured; then profiled, no_sync
    start_ns BIGINT,               -- on the rank's monotonic clock, zero at the run's common barrier
    step_ns BIGINT,                -- duration: the sum of the four phases
    data_ns BIGINT,                -- waiting for the batch and copying it to the device
    forward_ns BIGINT,             -- model and loss
    backward_ns BIGINT,            -- gradients, with the communication that overlaps them
    optimizer_ns BIGINT,           -- clipping, optimizer, schedule, scaler, zero_grad
    loss DOUBLE,                   -- mean over this rank's batch; null on a rank that computes none, as in a command's pipeline
    memory_allocated_bytes BIGINT, -- peak of the step; on a CPU the resident set, if it was read
    memory_reserved_bytes BIGINT   -- peak of the CUDA allocator's pool in the step; null on a CPU
);
