-- One row per session, placement and collective operation that was timed: its latency and bandwidth, a straight line
-- through the times of its message sizes as collective_bandwidth has them, least squares of relative errors;
-- derived/fabric_fits.sql fills it at load.
-- time = latency_s + bus_factor_of(op, world_size) x message_bytes / bus_bytes_per_s.
CREATE TABLE fabric_fits (
    session_id VARCHAR,
    device_type VARCHAR,           -- cpu, cuda
    device_name VARCHAR,           -- as CUDA or the kernel names it
    nodes INTEGER,                 -- that the ranks lie on
    ranks_per_node INTEGER,        -- the same on every node
    world_size INTEGER,            -- ranks
    op VARCHAR,                    -- all_reduce, all_gather, reduce_scatter, broadcast
    points INTEGER,                -- message sizes
    smallest_message_bytes BIGINT, -- that was timed
    largest_message_bytes BIGINT,  -- that was timed
    latency_s DOUBLE,              -- of an operation without bytes; null below 3 sizes
    bus_bytes_per_s DOUBLE,        -- bandwidth of the bus; null below 3 sizes, and where time does not grow with bytes
    relative_error DOUBLE          -- root of the mean square of line ÷ time - 1: large where time is no straight line
);
