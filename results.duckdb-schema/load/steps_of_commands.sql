-- Fill runs.counted_steps of commands. A script may end before all of the measured steps that were asked for. All runs
-- of its case then count the first ones only, as many as the shortest ok run has.
WITH shortest AS (
    SELECT
        session_id, case_name,
        min(steps_completed - (config -> 'measure' ->> 'warmup')::INTEGER) AS steps,
        min((config -> 'measure' ->> 'steps')::INTEGER) AS asked
    FROM runs
    WHERE workload = 'command' AND status = 'ok'
    GROUP BY session_id, case_name
)
UPDATE runs
SET counted_steps = shortest.steps
FROM shortest
WHERE runs.session_id = shortest.session_id AND runs.case_name = shortest.case_name AND shortest.steps < shortest.asked;

-- A run's mean is over all of its steps: if its batches differ, it says nothing of the first ones.
UPDATE runs
SET examples_per_step = NULL
WHERE counted_steps IS NOT NULL AND recorded_by ->> '$.batches' = 'of several sizes'
    AND steps_completed - (config -> 'measure' ->> 'warmup')::INTEGER > counted_steps;

-- The batch that the user gave is a whole number of the micro-batches that were counted. If that number depends on the
-- size, the command has not done what was meant, such as to share one batch.
UPDATE runs
SET examples_per_step = NULL, batch_per_rank = NULL, global_batch = NULL, recorded_by = json_merge_patch(
    recorded_by, json_object('examples', 'not known, because counts disagree', 'conflict', conflict)
)
FROM (
    SELECT
        session_id, case_name,
        format(
            'each rank trains {} times the batch that it was told to take at some sizes, and {} times at others',
            min(micro_batches), max(micro_batches)
        ) AS conflict
    FROM (
        SELECT session_id, case_name, (recorded_by ->> '$.micro_batches')::INTEGER AS micro_batches
        FROM runs
        WHERE workload = 'command' AND status = 'ok'
    )
    GROUP BY session_id, case_name
    HAVING min(micro_batches) < max(micro_batches)
) AS disagreeing
WHERE runs.session_id = disagreeing.session_id AND runs.case_name = disagreeing.case_name;

-- The word of the user on pauses, given after the measurement, holds over that of the runs.
UPDATE runs
SET config = json_merge_patch(config, json_object('workload_options', json_object('pauses', sessions.pauses)))
FROM sessions
WHERE runs.session_id = sessions.session_id AND sessions.pauses IS NOT NULL AND runs.workload = 'command';
