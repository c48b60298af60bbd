-- title: Waits for data
-- severity: warning
-- meaning: The ranks compute faster than their batches arrive, and devices idle until the next one is there. More or
--   faster devices make that worse: what loads the data bounds the throughput.
--
-- Fires where waiting for data puts off the step by more than a tenth of it, by the lower end of the interval where
-- there is one: MLPerf Storage wants accelerators busy for nine tenths of the time. The loader processes advised are
-- as many as load a batch within the rest of a step, if a batch takes them as long as it takes now.
WITH ok_runs AS (
    SELECT session_id, run_id, attempt, case_name, nodes, ranks_per_node, threads, world_size, device_type
    FROM run_summary
    WHERE status = 'ok' AND NOT oversubscribed
),
each_run AS (
    SELECT
        ok_runs.*,
        data_ns_added / nullif(step_ns_mean, 0) AS run_share,
        data_ns_added / 1e6 AS run_data_ms,
        step_ns_mean / 1e6 AS run_step_ms,
        try_cast(config->>'$.data.workers' AS INTEGER) AS loaders
    FROM ok_runs
    JOIN run_part_stats USING (session_id, run_id, attempt)
    JOIN runs USING (session_id, run_id, attempt)
),
over_repeats AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        count(*) AS repeats,
        list(run_share) AS shares,
        avg(run_data_ms) AS data_ms,
        avg(run_step_ms) AS step_ms,
        min(loaders) AS loaders,
        any_value(device_type) AS device_type,
        -- On a CPU the rank's own threads take theirs.
        any_value(try_cast(slots->>'$.cpus_per_node' AS INTEGER) // ranks_per_node)
            - if(device_type = 'cpu', threads, 1)
            AS free_cores
    FROM each_run
    JOIN sessions USING (session_id)
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads, device_type
    HAVING count(run_share) = count(*)
),
with_intervals AS (
    SELECT
        *,
        mean_of(shares) AS share,
        mean_half_width(repeats, variance_of(shares)) AS half_width,
        greatest(
            loaders + 1,
            ceil((data_ms * greatest(loaders, 1) + loaders * (step_ms - data_ms))
                / nullif(step_ms - data_ms, 0))
        ) AS enough
    FROM over_repeats
),
found AS (
    SELECT * FROM with_intervals WHERE round(coalesce(share - half_width, share), 3) > 0.1
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(half_width IS NULL, 'likely', 'shown') AS certainty,
    share AS cost,
    format(
        '{} of {} ms of a step wait for data: {}; {}',
        number_text(data_ms), number_text(step_ms),
        share_text(share, greatest(share - half_width, 0), least(share + half_width, 1)),
        CASE
            WHEN loaders = 0 THEN 'each rank loads for itself, and computes nothing meanwhile'
            ELSE format('each rank has {} loader process{}', loaders, if(loaders > 1, 'es', ''))
        END
    ) AS evidence,
    if(
        enough <= 16,
        format(
            'Load in {} process{} of each rank beside its computation (data.workers), with a larger data.prefetch '
            'where some batches are late; ', enough::INTEGER, if(enough > 1, 'es', '')
        ),
        'More loader processes alone will not do: '
    )
        || 'make an example cheaper to load: decode and shrink it once, beforehand, and keep it on a local disk or in '
        'memory.'
        || CASE
            WHEN free_cores < 1 THEN ' There are no cores left for it beside the ranks: use fewer ranks or threads.'
            WHEN free_cores < least(enough, 16) THEN format(' A rank has {} cores for it.', free_cores)
            ELSE ''
        END AS advice,
    knob_of(case_name, 'data.workers', least(enough, 16)::INTEGER) AS knob
FROM found
WHERE loaders IS NOT NULL
