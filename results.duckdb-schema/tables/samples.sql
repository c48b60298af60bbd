-- One row per reading of the sensors of a node or a GPU.
CREATE TABLE samples (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    node INTEGER,
    device INTEGER,                -- index of the GPU; null: the host
    time_ns BIGINT,                -- since the run's common barrier
    gpu_busy_share DOUBLE,         -- share of time with a kernel running
    memory_used_bytes BIGINT,  -- memory in use on the device (on the host: of the machine), other processes included
    power_w DOUBLE,                -- power of the GPU
    energy_j DOUBLE,               -- energy counter; only differences are meaningful
    temperature_c DOUBLE,          -- temperature of the GPU
    sm_clock_mhz DOUBLE,           -- clock of the GPU's multiprocessors
    throttle_reasons BIGINT,       -- NVML's bit mask
    cpu_busy_share DOUBLE,         -- share of all CPUs of the machine in use
    other_cpu_share DOUBLE,        -- share of the ranks' CPUs that other processes used
    rss_bytes BIGINT               -- sum of the resident sets of the node's ranks
);
