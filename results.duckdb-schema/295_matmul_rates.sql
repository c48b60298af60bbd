-- One row per session, kind of device, precision and, on a CPU, threads: its fastest multiplication (`matmul`).
-- derived/matmul_rates.sql fills it at load, so that what others achieved is known without their rows.
CREATE TABLE matmul_rates (
    session_id VARCHAR,
    device_type VARCHAR,           -- cpu, cuda
    device_name VARCHAR,
    precision VARCHAR,
    threads_of_a_cpu INTEGER,      -- of each rank; null of a GPU
    flops_per_s DOUBLE             -- of one rank
);
