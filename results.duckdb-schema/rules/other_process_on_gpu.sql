-- title: Another process on the GPU
-- severity: critical
-- meaning: Memory of a GPU was in use before the ranks started, so another process uses this GPU. The training cannot
--   have that memory. If the process computes, it also takes time from the training, and these results are not of the
--   training alone.
--
-- Fires if a GPU that ranks use had more than 2 GiB in use at the first reading of a run, before its ranks' common
-- barrier. At least two runs must show that, or the only one. The driver itself holds up to about 1 GiB of an empty
-- GPU.
WITH found AS (
    SELECT
        session_id, node, device,
        count(*) AS runs,
        count(*) FILTER (memory_used_bytes_first > 2 * 1024 ** 3) AS with_strangers,
        max(memory_used_bytes_first) AS bytes
    FROM run_device_stats
    JOIN run_summary USING (session_id, run_id, attempt)
    WHERE ranks > 0 AND memory_used_bytes_first IS NOT NULL
    GROUP BY session_id, node, device
),
judged AS (
    SELECT *, count(*) OVER (PARTITION BY session_id) AS devices
    FROM found
    WHERE with_strangers >= least(2, runs) AND with_strangers > 0
    QUALIFY row_number() OVER (PARTITION BY session_id ORDER BY bytes DESC, node, device) = 1
)
SELECT
    session_id,
    'shown' AS certainty,
    bytes AS magnitude,
    format(
        'GPU {} of node {} had {} GiB in use before the ranks started, in {} of {} runs{}', device, node,
        number_text(bytes / 2 ** 30), with_strangers, runs,
        if(devices > 1, format('; {} GPUs in total', devices), '')
    ) AS evidence,
    'Find the process with nvidia-smi, and measure again when it is gone, or on other GPUs (CUDA_VISIBLE_DEVICES, or '
    'an exclusive allocation).' AS advice
FROM judged
