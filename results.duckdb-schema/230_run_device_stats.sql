-- One row per node and device of an attempt that a sensor read; derived/run_device_stats.sql fills it at load.
CREATE TABLE run_device_stats (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    node INTEGER,
    device INTEGER,                -- null: the host
    readings BIGINT,               -- over the whole run, start-up included
    memory_used_bytes_peak BIGINT, -- of the device, other processes included; on the host of the machine
    rss_bytes_peak BIGINT,         -- of the host: resident sets of the ranks of the node together
    gpu_util_pct DOUBLE,           -- of a GPU: mean of the readings during measured steps; null: none
    sm_clock_mhz DOUBLE,           -- likewise
    energy_j DOUBLE                -- of a GPU: what its counter rose by in measured steps; null without a counter
);
