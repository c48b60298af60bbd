-- One row per attempt of a run, from its run.json; the last attempt is the one that counts.
CREATE TABLE runs (
    session_id VARCHAR,
    run_id VARCHAR,                -- unique within its session
    attempt INTEGER,               -- 0-based
    suite VARCHAR,
    case_name VARCHAR,
    workload VARCHAR,
    strategy VARCHAR,
    scaling VARCHAR,               -- none, strong, weak
    axis VARCHAR,                  -- ranks, threads
    workers INTEGER,               -- the n of the axis
    world_size INTEGER,            -- ranks
    nodes INTEGER,
    ranks_per_node INTEGER,
    threads INTEGER,               -- per rank
    oversubscribed BOOLEAN,        -- more ranks than slots: measured, never judged
    repeat INTEGER,
    device_type VARCHAR,           -- cpu, cuda
    device_name VARCHAR,
    precision VARCHAR,
    batch_per_rank BIGINT,         -- examples per rank and optimizer step
    global_batch BIGINT,
    examples_per_step BIGINT,
    accumulate INTEGER,            -- micro-batches per optimizer step
    tokens_per_example BIGINT,     -- null where the workload has no tokens
    parameters BIGINT,
    flops_per_step DOUBLE,
    dataset_size BIGINT,           -- examples in an epoch
    data_source VARCHAR,           -- what was really read
    baseline VARCHAR,              -- case to compare with, where it is not this one
    status VARCHAR,                -- ok, oom, failed, timeout, interrupted, skipped
    error VARCHAR,
    failed_rank INTEGER,
    failed_node INTEGER,
    started_at TIMESTAMP,          -- UTC
    elapsed_s DOUBLE,              -- begin of the run to its end, start-up included
    setup_s DOUBLE,                -- begin of the run to the ranks' common barrier
    steps_completed INTEGER,       -- smallest count over ranks, warm-up included
    slurm_job_id VARCHAR,
    tags VARCHAR[],
    fingerprint JSON,              -- what must be equal for two runs to be compared
    config JSON                    -- the whole specification of the run
);
