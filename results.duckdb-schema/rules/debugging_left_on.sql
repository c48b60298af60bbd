-- title: A debugging variable is set
-- severity: critical
-- meaning: An environment variable for debugging is set, which makes training slower on purpose. The results describe
--   this mode, not the training.
--
-- Fires for a session with runs on GPUs if CUDA_LAUNCH_BLOCKING (waits for every kernel) is set and not 0, or if
-- PYTORCH_NO_CUDA_MEMORY_CACHING (every tensor requests memory from the driver) is set at all: torch treats any value
-- as yes, even 0.
WITH variables AS (
    SELECT session_id, string_agg(DISTINCT key || '=' || value, ', ' ORDER BY key || '=' || value) AS set_ones
    FROM environment
    WHERE key = 'PYTORCH_NO_CUDA_MEMORY_CACHING'
        OR (key = 'CUDA_LAUNCH_BLOCKING' AND value NOT IN ('', '0'))
    GROUP BY session_id
),
on_gpus AS (
    SELECT DISTINCT session_id FROM run_summary WHERE device_type = 'cuda' AND throughput IS NOT NULL
)
SELECT
    session_id,
    'shown' AS certainty,
    format('{} {} set where the session ran', set_ones, if(contains(set_ones, ', '), 'were', 'was')) AS evidence,
    'Unset it and measure again.' AS advice
FROM variables
JOIN on_gpus USING (session_id)
