-- Fill runs.counted_steps of commands. A script may end before all of the measured steps that were asked for. All runs of
-- its case then count the first ones only, as many as the shortest ok run has.
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

-- What the user says of pauses after the measurement holds over what the runs were begun with.
UPDATE runs
SET config = json_merge_patch(config, json_object('workload_options', json_object('pauses', sessions.pauses)))
FROM sessions
WHERE runs.session_id = sessions.session_id AND sessions.pauses IS NOT NULL AND runs.workload = 'command';
