-- title: Too few cores, or cores bound twice
-- severity: critical
-- meaning: There are more ranks or threads than cores for them, so they take turns. Each step lasts until the last of
--   them has had its turn.
--
-- Fires if a node has more ranks (on CPUs: times their threads) than cores that its tasks may use, or than the CPU
-- time that its control group grants. It also fires if two tasks of a node were bound to the same cores. Does not fire
-- if the session marks the ranks as oversubscribed, which has its own rule, nor for a node that does not report its
-- cores.
WITH tasks AS (
    SELECT session_id, node, unnest(TRY_CAST(value AS INTEGER[])) AS cpu
    FROM environment
    WHERE regexp_full_match(key, 'task[0-9]+_cpus')
),
bound AS (
    SELECT session_id, node, count(DISTINCT cpu) AS cpus, count(*) - count(DISTINCT cpu) AS bound_twice
    FROM tasks
    GROUP BY session_id, node
),
quotas AS (
    SELECT session_id, node, TRY_CAST(value AS DOUBLE) AS quota FROM environment WHERE key = 'cpu_quota'
),
cores AS (
    SELECT
        session_id,
        min(cpus) AS cpus,
        min(quota) AS quota,
        max(bound_twice) AS bound_twice,
        arg_max(node, (bound_twice, -node)) AS node
    FROM bound
    LEFT JOIN quotas USING (session_id, node)
    GROUP BY session_id
),
wants AS (
    SELECT DISTINCT
        session_id, case_name, nodes, ranks_per_node, threads, device_type,
        ranks_per_node * if(device_type = 'cpu', greatest(coalesce(threads, 1), 1), 1) AS running
    FROM run_summary
    WHERE NOT oversubscribed AND status = 'ok'
),
judged AS (
    SELECT *, least(cpus, coalesce(quota, cpus)) AS usable, running > usable + 1e-9 AS too_many
    FROM wants
    JOIN cores USING (session_id)
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    CASE
        WHEN too_many THEN format(
            '{} {} of a node had {} {}', running, if(device_type = 'cpu', 'threads', 'ranks'),
            if(quota < cpus, format('the time of {:g}', quota), cpus::VARCHAR),
            if(quota < cpus, format('CPUs (control group; {} are visible)', cpus), if(cpus = 1, 'core', 'cores'))
        )
        ELSE format('tasks of node {} were given the same {} of its {} cores', node, bound_twice, cpus)
    END AS evidence,
    if(
        too_many,
        'Request as many cores as there are ranks, times their threads (Slurm: --cpus-per-task on srun; containers: '
        '--cpus), or run fewer ranks per node.',
        'Let Slurm bind each task to its own cores: --cpu-bind=cores with --cpus-per-task; or start one task per node.'
    ) AS advice
FROM judged
WHERE too_many OR (bound_twice > 0 AND ranks_per_node > 1)
