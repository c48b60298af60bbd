-- One row per reading of a node's or a GPU's sensors.
CREATE TABLE samples (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    node INTEGER,
    device INTEGER,                -- null: the host
    time_ns BIGINT,                -- since the run's common barrier
    gpu_util_pct DOUBLE,           -- time with a kernel running
    memory_used_bytes BIGINT,      -- of the device, other processes included; on the host of the machine
    power_w DOUBLE,                -- of the GPU
    energy_j DOUBLE,               -- counter; differences are meant
    temperature_c DOUBLE,          -- of the GPU
    sm_clock_mhz DOUBLE,           -- clock of the GPU's multiprocessors
    throttle_reasons BIGINT,       -- NVML's mask
    cpu_util_pct DOUBLE,           -- of all CPUs of the machine
    rss_bytes BIGINT               -- resident sets of the ranks of the node together
);
