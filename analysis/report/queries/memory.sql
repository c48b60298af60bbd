-- One row per case, placement and bin of steps: the largest over ranks and over the steps of the bin.
-- On CUDA the allocator's peak of the step, on a CPU the resident set where it was read. The first repeat of each
-- placement that completed a step, whatever its status; up to 60 bins of neighbouring steps.
WITH first_runs AS (
    SELECT *, nodes || 'x' || ranks_per_node || if(axis = 'threads', ' t' || threads, '') AS placement
    FROM run_summary
    WHERE session_id = $session_id AND steps_completed > 0
    QUALIFY row_number() OVER (
        PARTITION BY case_name, placement ORDER BY (status = 'ok') DESC, repeat
    ) = 1
),
read AS (
    SELECT *, count(*) OVER (PARTITION BY run_id, attempt) AS steps
    FROM step_stats
    WHERE session_id = $session_id AND memory_allocated_bytes IS NOT NULL
),
final AS (
    SELECT
        case_name, workers, placement, device_type, status,
        min(step) AS step,
        max(memory_allocated_bytes) AS memory_allocated_bytes,
        max(memory_reserved_bytes) AS memory_reserved_bytes
    FROM (SELECT *, row_number() OVER (PARTITION BY run_id, attempt ORDER BY step) - 1 AS position FROM read) AS read
    JOIN first_runs USING (session_id, run_id, attempt)
    GROUP BY
        case_name, workers, placement, device_type, status,
        if(read.steps <= 60, read.position, read.position * 60 // read.steps)
)
SELECT * FROM final ORDER BY case_name, workers, placement, step;
