-- title: A debugging variable is set
-- severity: critical
-- meaning: The environment holds a variable that is meant for finding faults and makes training slower on purpose: the
--   figures are of that, and not of the training.
--
-- Fires for a session with runs on GPUs where CUDA_LAUNCH_BLOCKING (every kernel is waited for) is
-- set and not 0, or PYTORCH_NO_CUDA_MEMORY_CACHING (every tensor asks the driver for memory) is set at all: to torch
-- any value is a yes, 0 too.
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
