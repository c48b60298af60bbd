-- One row per kind of device, precision and threads: the fastest multiplication before this load.
CREATE OR REPLACE TEMP TABLE outgoing_rates AS
SELECT device_type, device_name, precision, threads_of_a_cpu, max(flops_per_s) AS flops_per_s
FROM matmul_rates
GROUP BY ALL;
