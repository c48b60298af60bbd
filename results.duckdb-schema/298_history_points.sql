-- One row per row of scaling, with what history tells lines, experiments and changes by; derived/history_points.sql
-- fills it at load, so that history reads no run.
CREATE TABLE history_points (
    session_id VARCHAR,
    suite VARCHAR,
    case_name VARCHAR,
    workload VARCHAR,
    scaling VARCHAR,
    strategy VARCHAR,
    axis VARCHAR,
    workers INTEGER,
    world_size INTEGER,
    nodes INTEGER,
    ranks_per_node INTEGER,
    threads INTEGER,
    placement VARCHAR,             -- nodes x ranks per node: `2x4`
    device_type VARCHAR,
    device_name VARCHAR,
    oversubscribed BOOLEAN,
    runs BIGINT,                   -- last attempts, whatever their status
    repeats BIGINT,                -- ok runs
    -- throughput: examples per second over the measured steps, of an import over all its time; null unless ok
    throughput DOUBLE,
    throughput_lo DOUBLE,
    throughput_hi DOUBLE,
    throughput_unit VARCHAR,       -- examples/s; trainings/s where what was imported does not say its examples
    log_variance DOUBLE,           -- as in placements
    efficiency DOUBLE,             -- speedup ÷ workers; null over a baseline on another kind of device
    efficiency_lo DOUBLE,
    efficiency_hi DOUBLE,
    is_baseline BOOLEAN,           -- whether it is what the case's efficiency is relative to
    step_ms DOUBLE,                -- geometric mean over ok repeats of a run's median step
    step_ms_lo DOUBLE,
    step_ms_hi DOUBLE,
    line_facts VARCHAR[],          -- what points of one line have in common
    settings VARCHAR,              -- of the ok repeats' fingerprints
    asked VARCHAR[],               -- what points of one experiment have in common: settings, model of device, threads
    fingerprints VARCHAR[],        -- of the ok repeats, each once; null where none is ok
    fingerprints_digest VARCHAR,   -- of fingerprints; null where there are none
    config JSON                    -- specification of the first ok repeat
);
