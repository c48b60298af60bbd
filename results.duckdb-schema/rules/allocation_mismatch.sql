-- title: The allocation differs from the request
-- severity: warning
-- meaning: The job's allocation does not match what the session uses. Nodes, GPUs or CPUs that are paid for are idle,
--   or sizes that the suite needs are missing.
--
-- Fires if `bench` found that Slurm's step does not provide what the job requested, or that its nodes are not alike
-- (fact `warnings` of the environment). It also fires in a Slurm job if runs were skipped because the job has too few
-- slots.
WITH jobs AS (
    SELECT
        session_id,
        any_value(value) FILTER (key = 'slurm_job_id') AS job,
        string_agg(DISTINCT value, '; ' ORDER BY value) FILTER (key = 'warnings') AS warnings
    FROM environment
    GROUP BY session_id
),
slots AS (
    SELECT
        session_id,
        try_cast(slots->>'nodes' AS INTEGER) AS nodes_given,
        try_cast(slots->>'slots_per_node' AS INTEGER) AS slots_per_node,
        try_cast(slots->>'cpus_per_node' AS INTEGER) AS cpus_per_node
    FROM sessions
),
skipped AS (
    SELECT
        session_id, nodes, ranks_per_node,
        skip_reason AS reason,
        count(*) OVER (PARTITION BY session_id) AS runs
    FROM planned_runs
    JOIN slots USING (session_id)
    WHERE skip_reason IS NOT NULL AND probe IS NOT TRUE
        AND (nodes > nodes_given OR ranks_per_node > slots_per_node OR ranks_per_node * threads > cpus_per_node)
    QUALIFY row_number() OVER (PARTITION BY session_id ORDER BY world_size DESC, nodes, skip_reason) = 1
)
SELECT
    session_id,
    'shown' AS certainty,
    concat_ws(
        '; ', warnings,
        if(runs > 0, format('{} planned runs were skipped: {}', runs, split_part(reason, ': --', 1)), NULL)
    ) AS evidence,
    if(
        runs > 0,
        format(
            'Request the shape that the suite needs: --nodes {} with {} GPUs each (--gpus-per-node), or as many cores '
            'on CPUs, reaches its largest size; or choose the sizes with --world.', nodes, ranks_per_node
        ),
        'Request a fixed shape: --nodes, --gpus-per-node, and --cpus-per-task on srun itself.'
    ) AS advice
FROM jobs
LEFT JOIN skipped USING (session_id)
WHERE job IS NOT NULL AND (warnings IS NOT NULL OR runs > 0)
