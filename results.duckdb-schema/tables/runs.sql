-- One row per attempt of a run, from its run.json; the last attempt is the one that counts.
CREATE TABLE runs (
    session_id VARCHAR,
    run_id VARCHAR,                -- unique within its session
    attempt INTEGER,               -- 0-based; a resume adds an attempt
    suite VARCHAR,
    case_name VARCHAR,             -- case of the suite, with its matrix choice
    workload VARCHAR,              -- what is trained; for a custom file its name and class, without the folder
    strategy VARCHAR,              -- how the model is distributed over the ranks; for a custom file as workload
    scaling_mode VARCHAR,          -- none, strong, weak; for a command as counted, or as --scaling says
    axis VARCHAR,                  -- what scales: ranks, threads
    workers INTEGER,               -- number of ranks or threads along the axis
    world_size INTEGER,            -- number of ranks
    nodes INTEGER,                 -- number of nodes used
    ranks_per_node INTEGER,        -- ranks per node, the same on every node
    threads INTEGER,               -- threads per rank
    oversubscribed BOOLEAN,        -- whether there are more ranks than slots: measured, but never judged
    repeat INTEGER,                -- 0-based; determines the seed
    round INTEGER,                 -- 0-based round of the session; no size is twice in it; null: probes, imports without
    position INTEGER,              -- 0-based position in the round, in the order of running
    device_type VARCHAR,           -- cpu, cuda
    device_name VARCHAR,           -- as reported by CUDA or the kernel
    precision VARCHAR,             -- fp32, tf32, bf16, fp16
    batch_per_rank BIGINT,         -- examples per rank and optimizer step; ranks that share a batch all have it
    global_batch BIGINT,           -- examples per optimizer step, over all ranks
    examples_per_step DOUBLE,  -- examples that throughput counts: the global batch, or a mean that the workload counts
    accumulate INTEGER,            -- micro-batches per optimizer step
    tokens_per_example DOUBLE,     -- a mean if the workload counts tokens; null if it has none
    couples_examples BOOLEAN,  -- whether an example's loss depends on the others in its rank's batch, as with BatchNorm
    metric VARCHAR,                -- the workload's name for the score in val_accuracy, such as Dice; null: accuracy
    same_batch BOOLEAN,            -- whether all ranks had the same first batch; null for one rank, one group that shares its batch, or a pipeline
    work_of_ranks JSON,  -- tokens, or else examples, of each rank in a mean measured step; null: not counted, or one rank
    ranks_train VARCHAR,           -- one model, independent copies: no gradients are combined; null unless a command, for one rank, and if unknown
    recorded_by JSON,              -- how the probe obtained each figure of a command; null for other workloads
    profile_problem VARCHAR,       -- why a rank has no rows in profile although steps were profiled; null: no problem
    ranks_ended INTEGER,  -- ranks that did not end after their last row was stored, and were ended; their rows are complete
    parameters BIGINT,             -- number of parameters of the whole model
    units INTEGER,  -- parts that FSDP shards separately: the blocks that the workload names, plus the rest
    flops_per_step DOUBLE,         -- FLOPs of forward and backward over all ranks, from the model's mathematics
    flops_note VARCHAR,            -- why the FLOPs could not be counted; null if they were, or were not requested
    dataset_size BIGINT,           -- examples in an epoch
    data_source VARCHAR,           -- data that was actually read
    baseline VARCHAR,              -- case to compare with, if it is not this one
    probe BOOLEAN,  -- whether it is a probe of find_batch: it only tests if a micro-batch fits, and is in no figure
    memory_limit_bytes BIGINT,     -- what a rank may allocate beyond memory_before_bytes; null: no limit
    until DOUBLE,                  -- measure.until: wanted relative half-width of throughput; null if not set
    until_efficiency DOUBLE,       -- measure.until_efficiency: wanted relative half-width of efficiency; null if not set
    until_loss DOUBLE,             -- measure.until_loss: validation loss that ends the training; null if not set
    status VARCHAR,                -- ok, oom, failed, timeout, interrupted, skipped
    error VARCHAR,                 -- the error, in a line; of a command then the last lines of its log; null for ok
    failed_rank INTEGER,           -- rank on which the failure began; null if unknown
    failed_node INTEGER,           -- node on which the failure began
    started_at TIMESTAMP,          -- UTC
    elapsed_s DOUBLE,              -- start to end of the run, start-up included
    setup_s DOUBLE,                -- start of the run to the ranks' common barrier
    memory_before_bytes BIGINT,    -- private resident memory of a rank before its model is built; null on CUDA
    compile_s DOUBLE,              -- time that torch.compile took, of the slowest rank; null if it did not compile
    measured_recompiles INTEGER,  -- compilations among measured steps, which they distort; null if nothing was compiled
    steps_completed INTEGER,       -- smallest count over ranks, warm-up included
    counted_steps INTEGER,  -- measured steps that figures count, where a run of a command's case has fewer than asked; null: all
    slurm_job_id VARCHAR,          -- null outside Slurm
    whole_run_s DOUBLE,  -- total time of a training measured elsewhere, from its file; null if steps were measured
    whole_run_examples BIGINT,     -- examples that this training processed, over all epochs; null: unknown
    whole_run_epochs BIGINT,       -- passes over the data in this training; null: unknown
    reported_throughput DOUBLE,    -- throughput that an imported file reports; null: computed from steps or times
    reported_unit VARCHAR,  -- its unit: examples/s, tokens/s, GPU peaks (MFU x GPUs); null without one
    tags VARCHAR[],
    fingerprint JSON,              -- software, hardware and settings of the run; the table fingerprint has them as rows
    config JSON                    -- complete specification of the run
);
