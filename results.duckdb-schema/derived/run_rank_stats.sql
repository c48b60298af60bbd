-- The four phases of a rank add up to its step; means are over measured steps. A validation between two measured steps
-- is no part of the span. That pause begins when the last rank is done with the one step and ends when this rank begins
-- the other: to wait for the last rank belongs to the span there as it does in every step.
INSERT INTO run_rank_stats BY NAME
WITH incoming_steps AS (
    SELECT * FROM steps WHERE session_id IN (SELECT session_id FROM incoming_sessions) AND kind <> 'profiled'
),
-- The steps on either side of a validation, a few per run: whatever is asked of them is joined by equality.
borders AS (
    SELECT DISTINCT
        session_id, run_id, attempt,
        step AS validated_step,
        unnest([step - 1, step]) AS step
    FROM evals
    WHERE session_id IN (SELECT session_id FROM incoming_sessions)
),
at_borders AS (
    SELECT
        session_id, run_id, attempt, rank, validated_step,
        max(start_ns + step_ns) FILTER (step < validated_step) AS end_ns,
        max(start_ns) FILTER (step = validated_step) AS resumed_ns
    FROM incoming_steps
    JOIN borders USING (session_id, run_id, attempt, step)
    WHERE kind = 'measured'
    GROUP BY session_id, run_id, attempt, rank, validated_step
),
-- Null, and so nothing, where the warm-up or the run ended with the validation.
each_pause AS (
    SELECT
        session_id, run_id, attempt, rank,
        resumed_ns - max(end_ns) OVER (PARTITION BY session_id, run_id, attempt, validated_step) AS pause_ns
    FROM at_borders
),
pauses AS (
    SELECT session_id, run_id, attempt, rank, sum(pause_ns)::BIGINT AS pauses_ns
    FROM each_pause
    GROUP BY session_id, run_id, attempt, rank
),
over_steps AS (
    SELECT
        session_id, run_id, attempt, rank,
        any_value(node) AS node,
        count(*) FILTER (kind = 'measured') AS measured_steps,
        max(start_ns + step_ns) FILTER (kind = 'measured') - min(start_ns) FILTER (kind = 'measured')
            AS first_to_last_ns,
        avg(step_ns) FILTER (kind = 'measured') AS step_ns_mean,
        avg(data_ns) FILTER (kind = 'measured') AS data_ns_mean,
        avg(forward_ns) FILTER (kind = 'measured') AS forward_ns_mean,
        avg(backward_ns) FILTER (kind = 'measured') AS backward_ns_mean,
        avg(optimizer_ns) FILTER (kind = 'measured') AS optimizer_ns_mean,
        max(memory_allocated_bytes) AS memory_allocated_bytes_peak,
        max(memory_reserved_bytes) AS memory_reserved_bytes_peak,
        avg(memory_allocated_bytes) FILTER (kind = 'measured') AS memory_allocated_bytes_mean,
        avg(memory_reserved_bytes) FILTER (kind = 'measured') AS memory_reserved_bytes_mean
    FROM incoming_steps
    GROUP BY session_id, run_id, attempt, rank
),
final AS (
    SELECT
        over_steps.* EXCLUDE (first_to_last_ns),
        first_to_last_ns - coalesce(pauses_ns, 0) AS span_ns
    FROM over_steps
    LEFT JOIN pauses USING (session_id, run_id, attempt, rank)
)
SELECT * FROM final;
