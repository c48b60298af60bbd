-- One row per reading of a node's or a GPU's sensors.
CREATE TABLE samples (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    node INTEGER,
    device INTEGER,                -- null: the host
    time_ns BIGINT,                -- since the run's common barrier
    gpu_util_pct DOUBLE,
    memory_used_bytes BIGINT,
    power_w DOUBLE,
    energy_j DOUBLE,               -- counter; differences are meant
    temperature_c DOUBLE,
    sm_clock_mhz DOUBLE,
    throttle_reasons BIGINT,       -- NVML's mask
    cpu_util_pct DOUBLE,
    rss_bytes BIGINT
);
