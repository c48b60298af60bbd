-- One row per attempt of a run, from its run.json; the last attempt is the one that counts.
CREATE TABLE runs (
    session_id VARCHAR,
    run_id VARCHAR,                -- unique within its session
    attempt INTEGER,               -- 0-based
    suite VARCHAR,
    case_name VARCHAR,             -- as in the suite, with the choice of its matrix
    workload VARCHAR,              -- what is trained; of an own file its name and class, without its folder
    strategy VARCHAR,              -- how the model is laid over the ranks
    scaling VARCHAR,               -- none, strong, weak
    axis VARCHAR,                  -- ranks, threads
    workers INTEGER,               -- the n of the axis
    world_size INTEGER,            -- ranks
    nodes INTEGER,                 -- that the ranks lie on
    ranks_per_node INTEGER,        -- the same on every node
    threads INTEGER,               -- per rank
    oversubscribed BOOLEAN,        -- more ranks than slots: measured, never judged
    repeat INTEGER,                -- 0-based; it sets the seed
    device_type VARCHAR,           -- cpu, cuda
    device_name VARCHAR,           -- as CUDA or the kernel names it
    precision VARCHAR,             -- fp32, tf32, bf16, fp16
    batch_per_rank BIGINT,         -- examples per rank and optimizer step
    global_batch BIGINT,           -- examples per optimizer step, over all ranks
    examples_per_step BIGINT,      -- what throughput counts: the global batch
    accumulate INTEGER,            -- micro-batches per optimizer step
    tokens_per_example BIGINT,     -- null where the workload has no tokens
    couples_examples BOOLEAN,      -- whether an example's loss hangs on the others of its rank's batch, as by BatchNorm
    parameters BIGINT,             -- of the whole model
    units INTEGER,                 -- that FSDP shards one by one: blocks that the workload names, and what is in none
    flops_per_step DOUBLE,         -- of forward and backward over all ranks, as the model's mathematics has them
    flops_note VARCHAR,            -- why they could not be counted; null where they were, or were not asked for
    dataset_size BIGINT,           -- examples in an epoch
    data_source VARCHAR,           -- what was really read
    baseline VARCHAR,              -- case to compare with, where it is not this one
    probe BOOLEAN,                 -- of find_batch: it only finds out whether its micro-batch fits, and is in no figure
    memory_limit_bytes BIGINT,     -- that a rank may allocate beyond memory_before_bytes; null: no limit
    until DOUBLE,                  -- measure.until: relative half-width of throughput that is wanted; null: not asked
    status VARCHAR,                -- ok, oom, failed, timeout, interrupted, skipped
    error VARCHAR,                 -- the first line of what went wrong; null for ok
    failed_rank INTEGER,           -- the rank that it began on; null where none can be blamed
    failed_node INTEGER,           -- the node that it began on
    started_at TIMESTAMP,          -- UTC
    elapsed_s DOUBLE,              -- begin of the run to its end, start-up included
    setup_s DOUBLE,                -- begin of the run to the ranks' common barrier
    memory_before_bytes BIGINT,    -- private resident memory of a rank before its model is built; null on CUDA
    compile_s DOUBLE,              -- time in which torch.compile compiled, of the slowest rank; null where it did not
    measured_recompiles INTEGER,   -- compilations among measured steps, which they spoil; null where nothing was compiled
    steps_completed INTEGER,       -- smallest count over ranks, warm-up included
    slurm_job_id VARCHAR,          -- null outside Slurm
    whole_run_s DOUBLE,            -- of a training measured elsewhere: its time as its file says it; null where steps were
    whole_run_examples BIGINT,     -- that this training processed, over all epochs; null: not known
    whole_run_epochs BIGINT,       -- passes over the data of this training; null: not known
    tags VARCHAR[],
    fingerprint JSON,              -- what it was made with and where; the table fingerprint has it in rows
    config JSON                    -- the whole specification of the run
);
