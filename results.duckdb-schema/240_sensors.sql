-- One row per attempt, kind of device and bin of time, of which an attempt has up to 40: what the sensors read of the
-- devices of all nodes; null where no sensor read it. derived/sensors.sql fills it at load.
CREATE TABLE sensors (
    session_id VARCHAR,
    run_id VARCHAR,
    attempt INTEGER,
    kind VARCHAR,                  -- host, GPU
    time_s DOUBLE,                 -- since the ranks' common barrier, of the first reading of the bin
    power_w DOUBLE,                -- of one device: mean over devices
    temperature_c DOUBLE,          -- of the hottest device
    clock_mhz DOUBLE,              -- of the slowest device
    utilisation DOUBLE             -- fraction, mean over devices: of a host CPUs in use, of a GPU time with a kernel
);
