-- One row per session, case and n that scaling laws are fitted to; derived/law_points.sql fills it at load.
CREATE TABLE law_points (
    session_id VARCHAR,
    case_name VARCHAR,
    scaling VARCHAR,               -- strong, weak
    axis VARCHAR,                  -- of the case's workers: ranks, threads
    workers INTEGER,               -- the n of that axis
    global_batch BIGINT,           -- examples of a step over all ranks
    mean_throughput DOUBLE,        -- in the unit of throughput; geometric mean over ok repeats
    speedup DOUBLE                 -- as in scaling; null where the case that it is compared with has no ok run, or ran on
                                   -- another kind of device
);
