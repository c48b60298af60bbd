-- Fill runs.scaling_mode of commands, whose batch is known only once they have run. The scaling is strong if all sizes of
-- a case have the same global batch, weak if they have the same batch per rank, and none otherwise. A few examples more
-- or less do not matter: 2 % of the usual batch, 10 % of the mean. Where the ranks train independent copies of the model it is none, even if the user says more.
CREATE OR REPLACE TEMP TABLE scaling_of_commands AS
WITH sizes AS (
    SELECT
        session_id, case_name, world_size,
        min(global_batch) AS least, max(global_batch) AS most, avg(examples_per_step) AS mean,
        bool_or(world_size > 1 AND ranks_train IS DISTINCT FROM 'one model') AS may_be_copies,
        bool_or(coalesce(ranks_train = 'independent copies', false)) AS are_copies
    FROM runs
    WHERE workload = 'command' AND status = 'ok'
    GROUP BY session_id, case_name, world_size
)
SELECT
    session_id, case_name,
    bool_or(are_copies) AS are_copies,
    CASE
        WHEN bool_or(may_be_copies) OR count(*) < 2 OR count(least) < count(*) THEN 'none'
        WHEN ln(max(most) / min(least)) <= 0.02 AND ln(max(mean) / min(mean)) <= 0.1 THEN 'strong'
        WHEN ln(max(most / world_size) / min(least / world_size)) <= 0.02
            AND ln(max(mean / world_size) / min(mean / world_size)) <= 0.1 THEN 'weak'
        ELSE 'none'
    END AS counted
FROM sizes
GROUP BY session_id, case_name;

UPDATE runs
SET scaling_mode = CASE
    WHEN are_copies THEN 'none' WHEN scaling_mode = 'counted' THEN counted ELSE scaling_mode
END
FROM scaling_of_commands
WHERE runs.session_id = scaling_of_commands.session_id AND runs.case_name = scaling_of_commands.case_name;

UPDATE runs SET scaling_mode = 'none' WHERE scaling_mode = 'counted';

UPDATE planned_runs
SET scaling_mode = runs.scaling_mode
FROM runs
WHERE runs.workload = 'command' AND runs.session_id = planned_runs.session_id AND runs.run_id = planned_runs.run_id;

UPDATE planned_runs SET scaling_mode = 'none' WHERE scaling_mode = 'counted';

DROP TABLE scaling_of_commands;
