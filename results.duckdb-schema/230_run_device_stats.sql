-- One row per node and device of an attempt that a sensor read; derived/run_device_stats.sql fills it at load.
CREATE TABLE run_device_stats (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    node INTEGER,
    device INTEGER,                -- null: the host
    readings BIGINT,               -- over the whole run, start-up included
    memory_used_bytes_peak BIGINT, -- of the device, other processes included; on the host of the machine
    memory_used_bytes_first BIGINT, -- at the first reading, before the run's ranks are there; null: none was so early
    rss_bytes_peak BIGINT,         -- of the host: resident sets of the ranks of the node together
    gpu_util_pct DOUBLE,           -- of a GPU: mean of the readings during measured steps; null: none
    sm_clock_mhz DOUBLE,           -- likewise
    temperature_c DOUBLE,          -- of a GPU: the hottest reading during measured steps
    throttle_readings BIGINT,      -- of a GPU: readings during measured steps that have NVML's reasons for lower clocks
    power_cap_share DOUBLE,        -- of these, in which it kept to its power limit
    heat_share DOUBLE,             -- likewise, in which it was slowed down because it was hot
    hardware_slowdown_share DOUBLE, -- likewise, slowed down by its own or the machine's protection, heat not named
    energy_j DOUBLE                -- of a GPU: what its counter rose by in measured steps; null without a counter
);
