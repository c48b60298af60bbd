-- One row per session, case and placement from which communication_prediction starts: strong or weak scaling over ranks
-- with a strategy whose messages are known, an ok repeat, not oversubscribed; derived/communication_points.sql fills it
-- at load. The phases are means over ranks, steps and repeats, scaled to add up to step_s.
CREATE TABLE communication_points (
    session_id VARCHAR,
    case_name VARCHAR,
    scaling VARCHAR,               -- strong, weak
    strategy VARCHAR,              -- ddp, fsdp, fsdp1
    device_type VARCHAR,           -- cpu, cuda
    device_name VARCHAR,           -- as CUDA or the kernel names it
    nodes INTEGER,                 -- that the ranks lie on
    ranks_per_node INTEGER,        -- the same on every node
    world_size INTEGER,            -- ranks
    batch_per_rank BIGINT,         -- examples per rank and optimizer step
    global_batch BIGINT,           -- examples per optimizer step
    micro_batches INTEGER,         -- per optimizer step
    shard_size INTEGER,            -- ranks that share a copy of the parameters; null: all
    mean_throughput DOUBLE,        -- in the unit of throughput; geometric mean over ok repeats
    step_s DOUBLE,                 -- global_batch ÷ mean_throughput
    data_s DOUBLE,                 -- of step_s
    forward_s DOUBLE,              -- of step_s
    backward_s DOUBLE,             -- of step_s, with the communication in it
    optimizer_s DOUBLE,            -- of step_s
    stands_for_n BOOLEAN           -- of placements with as many ranks the one on the fewest nodes
);
