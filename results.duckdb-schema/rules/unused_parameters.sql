-- title: DDP searches for unused parameters in every step
-- severity: notice
-- meaning: With find_unused_parameters, DDP walks the whole graph after every forward pass to find parameters that get
--   no gradient. If the model has none, this cost is for nothing. If it has some and the option is off, torch ends the
--   run and says so.
--
-- Fires if the option is on and the same case without it is faster: beyond noise or, with single repeats, by 5 %,
-- which is more than single repeats usually differ by. It also fires if the session has no case without the option,
-- unless a run without it failed because of such parameters. PyTorch (DistributedDataParallel) gives the same warning.
WITH settings AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        any_value(concat_ws(
            ' ', config ->> '$.workload_options', config ->> '$.data', config ->> '$.train',
            json_merge_patch(config -> '$.strategy_options', '{"find_unused_parameters": null}')
        )) AS settings,
        any_value(concat_ws(' ', workload, config ->> '$.workload_options')) AS model,
        bool_or(coalesce(config ->> '$.strategy_options.static_graph' = 'true', false)) AS is_static,
        bool_or(coalesce(config ->> '$.strategy_options.find_unused_parameters' = 'true', false)) AS is_looking,
        bool_or(contains(error, 'Expected to have finished reduction')) AS has_unused
    FROM runs
    WHERE probe IS NOT TRUE AND strategy = 'ddp' AND world_size > 1
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
points AS (
    SELECT * FROM placements JOIN settings USING (session_id, case_name, nodes, ranks_per_node, threads)
),
switched_off AS (
    SELECT * FROM points
    WHERE NOT is_looking AND NOT oversubscribed AND repeats > 0
    QUALIFY row_number() OVER (
        PARTITION BY
            session_id, nodes, ranks_per_node, threads, scaling_mode, axis, workload, settings, precision, device_type,
            batch_per_rank, global_batch
        ORDER BY case_name
    ) = 1
),
-- A case that trains the same model without the option shows that nothing is unused; a static graph does not.
without AS (
    SELECT session_id, model, min(case_name) AS other_case
    FROM points
    WHERE NOT is_looking AND NOT is_static AND repeats > 0
    GROUP BY session_id, model
),
compared AS (
    SELECT
        points.*,
        switched_off.case_name AS off_case, other_case,
        log_ratio(switched_off.logs, points.logs, points.stops_early OR switched_off.stops_early) AS slower,
        exp(slower['point']) AS time_ratio
    FROM points
    LEFT JOIN switched_off USING (
        session_id, nodes, ranks_per_node, threads, scaling_mode, axis, workload, settings, precision, device_type,
        batch_per_rank, global_batch
    )
    LEFT JOIN without ON without.session_id = points.session_id AND without.model = points.model
    WHERE points.is_looking AND NOT points.oversubscribed AND points.repeats > 0
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(slower.lo IS NULL, 'likely', 'shown') AS certainty,
    1 - 1 / time_ratio AS cost,
    CASE
        WHEN off_case IS NULL
        THEN 'find_unused_parameters is on, and '
            || coalesce(other_case || ' trains the same model without it', 'no run shows that it is needed')
        WHEN slower.lo IS NULL
        THEN format('a step takes {:.2f} times as long as in {}, which has it off', time_ratio, off_case)
        ELSE format(
            'a step takes {:.2f} times [{:.2f}, {:.2f}] as long as in {}, which has it off', time_ratio,
            exp(slower.lo), exp(slower.hi), off_case
        )
    END AS evidence,
    'Turn find_unused_parameters off'
    || if(
        off_case IS NULL,
        '; if parts of the model get no gradient, torch says so, and the option has to stay on.', '.'
    ) AS advice,
    'If the unused parts are the same in every step, static_graph finds them once.' AS alternatives,
    option_of(case_name, 'strategy.find_unused_parameters', 'false') AS options
FROM compared
WHERE CASE
    WHEN off_case IS NOT NULL THEN coalesce(slower.lo > 0, time_ratio >= 1.05)
    ELSE NOT EXISTS (
        FROM settings AS others
        WHERE others.session_id = compared.session_id AND others.model = compared.model AND others.has_unused
    )
END
