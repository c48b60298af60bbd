-- One row per rank of an attempt: the GPU and the CPUs that it had.
CREATE TABLE rank_places (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    rank INTEGER,                  -- 0-based, over all nodes
    node INTEGER,                  -- 0-based
    device INTEGER,                -- index of its GPU in samples; null: the node's sensors do not see it, or on a CPU
    gpu_uuid VARCHAR,              -- UUID of its GPU or MIG slice; null: it does not tell it, or on a CPU
    cpus VARCHAR                   -- CPUs that it may use, as Linux writes them: 0-13,112-125
);
