-- One row per case, placement, kind of memory and bin of steps: the largest over ranks and over the steps of the bin.
-- On CUDA the allocator's peaks of the step, allocated and reserved; on a CPU the resident set, if it was read. The
-- first repeat of each placement that completed a step, with any status; up to 40 bins of neighbouring steps.
-- Beyond 12 cases: the 12 that need most.
WITH first_begun AS (
    SELECT * FROM run_summary
    WHERE session_id = $session_id AND steps_completed > 0
    QUALIFY row_number() OVER (
        PARTITION BY case_name, placement ORDER BY (status = 'ok') DESC, repeat
    ) = 1
),
ranked AS (
    SELECT
        case_name,
        count(*) OVER () AS panel_count,
        row_number() OVER (ORDER BY max(peak_memory_allocated_bytes) DESC, case_name) AS place
    FROM first_begun
    WHERE peak_memory_allocated_bytes IS NOT NULL
    GROUP BY case_name
),
shfirst_begun AS (
    SELECT first_begun.*, panel_count FROM first_begun JOIN ranked USING (case_name) WHERE place <= 12
),
read AS (
    SELECT
        case_name, workers, placement, device_type, status, panel_count,
        step, memory_allocated_bytes, memory_reserved_bytes,
        steps_completed AS steps
    FROM step_stats
    JOIN shfirst_begun USING (session_id, run_id, attempt)
    WHERE session_id = $session_id AND kind IN ('warmup', 'measured') AND memory_allocated_bytes IS NOT NULL
),
binned AS (
    SELECT
        case_name, workers, placement, device_type, status,
        min(step) AS step,
        max(memory_allocated_bytes) / 2 ** 20 AS allocated,
        max(memory_reserved_bytes) / 2 ** 20 AS reserved,
        any_value(panel_count) AS panel_count
    FROM read
    GROUP BY
        case_name, workers, placement, device_type, status, if(steps <= 40, step, step * 40 // steps)
),
final AS (
    SELECT
        * EXCLUDE (device_type)
        REPLACE (if(device_type = 'cpu' AND kind = 'allocated', 'resident set', kind) AS kind)
    FROM (UNPIVOT binned ON allocated, reserved INTO NAME kind VALUE memory_mib) AS long
)
SELECT * FROM final ORDER BY case_name, workers, placement, kind, step;
