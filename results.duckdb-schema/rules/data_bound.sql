-- title: Training waits for data
-- severity: warning
-- meaning: Ranks compute faster than their batches arrive, so devices are idle until the next batch arrives. More or
--   faster devices make this worse, because loading limits the throughput.
--
-- Fires if waiting for data delays the step by more than a tenth of its duration, by the lower end of the interval if
-- there is one: MLPerf Storage requires accelerators to be busy for nine tenths of the time. The advised number of
-- loader processes can load a batch within the rest of a step, if each process takes as long for a batch as it does
-- now.
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
        -- The configuration of a command says nothing of its loader.
        try_cast(coalesce(recorded_by->>'$.loader_workers', config->>'$.data.workers') AS INTEGER) AS loaders,
        try_cast(recorded_by->>'$.loader_starts' AS INTEGER) AS starts
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
        min(starts) AS starts,
        any_value(device_type) AS device_type,
        -- On a CPU, the rank's own threads need cores, too.
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
        '{} of the {} ms of a step are spent waiting for data: {}; {}',
        number_text(data_ms), number_text(step_ms),
        share_text(share, end_of_share(share - half_width), end_of_share(share + half_width)),
        CASE
            WHEN loaders = 0 THEN 'each rank loads its own data, and does not compute while it does'
            ELSE format('each rank has {} loader process{}', loaders, if(loaders > 1, 'es', ''))
        END
        || if(starts > 0, format(', started again {} time{} in the measured steps', starts, if(starts > 1, 's', '')), '')
    ) AS evidence,
    if(
        starts > 0,
        'First keep the loader processes from epoch to epoch, with persistent_workers=True in the DataLoader. ',
        ''
    )
    || if(
        enough <= 16,
        format(
            'Use {} loader process{} per rank (data.workers), with a larger data.prefetch if single batches are late; ',
            enough::INTEGER, if(enough > 1, 'es', '')
        ),
        'More loader processes alone are not enough; '
    )
        || 'make examples cheaper to load: decode and shrink them once, before training, and keep them on a local disk '
            'or in memory.' AS advice,
    CASE
        WHEN free_cores < 1 THEN 'The ranks leave no cores for loading: use fewer ranks or threads.'
        WHEN free_cores < least(enough, 16) THEN format('A rank has {} core{} for loading.', free_cores, if(free_cores > 1, 's', ''))
    END AS alternatives,
    option_of(case_name, 'data.workers', least(enough, 16)::INTEGER) AS options
FROM found
WHERE loaders IS NOT NULL
