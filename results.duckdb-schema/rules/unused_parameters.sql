-- title: Unused parameters are looked for in every step
-- severity: notice
-- meaning: With find_unused_parameters DDP walks the whole graph after every forward, for parameters that get no
--   gradient. A model that has none pays for nothing. Without it torch ends the run if there are some, and says so.
--
-- Fires where it is on and the same case without it is faster: for certain, or with single repeats by 5 %, which is
-- more than they usually differ by. Where the session has no such case it fires too, unless a run without it has failed
-- for that reason. PyTorch (DistributedDataParallel) warns of the same.
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
plain AS (
    SELECT * FROM points
    WHERE NOT is_looking AND NOT oversubscribed AND repeats > 0
    QUALIFY row_number() OVER (
        PARTITION BY
            session_id, nodes, ranks_per_node, threads, scaling, axis, workload, settings, precision, device_type,
            batch_per_rank, global_batch
        ORDER BY case_name
    ) = 1
),
-- A case that trains the same model without it, and so shows that nothing is unused; a static graph would not.
without AS (
    SELECT session_id, model, min(case_name) AS other_case
    FROM points
    WHERE NOT is_looking AND NOT is_static AND repeats > 0
    GROUP BY session_id, model
),
compared AS (
    SELECT
        points.*,
        plain.case_name AS plain_case, other_case,
        plain.throughput / points.throughput AS time_ratio,
        half_width(points.repeats, points.log_variance, plain.repeats, plain.log_variance) AS half_width
    FROM points
    LEFT JOIN plain USING (
        session_id, nodes, ranks_per_node, threads, scaling, axis, workload, settings, precision, device_type,
        batch_per_rank, global_batch
    )
    LEFT JOIN without ON without.session_id = points.session_id AND without.model = points.model
    WHERE points.is_looking AND NOT points.oversubscribed AND points.repeats > 0
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(half_width IS NULL, 'likely', 'shown') AS certainty,
    1 - 1 / time_ratio AS cost,
    CASE
        WHEN plain_case IS NULL
        THEN 'find_unused_parameters is on, and '
            || coalesce(other_case || ' trains the same model without it', 'no run says that it is needed')
        WHEN half_width IS NULL
        THEN format('a step takes {:.2f} times as long as in {}, which does without', time_ratio, plain_case)
        ELSE format(
            'a step takes {:.2f} times [{:.2f}, {:.2f}] as long as in {}, which does without', time_ratio,
            time_ratio * exp(-half_width), time_ratio * exp(half_width), plain_case
        )
    END AS evidence,
    'Leave find_unused_parameters off'
    || if(plain_case IS NULL, '; where parts of the model get no gradient, torch says so, and it has to stay.', '.')
    || ' Where the unused parts are the same in every step, static_graph finds them once.' AS advice,
    knob_of(case_name, 'strategy.find_unused_parameters', 'false') AS knob
FROM compared
WHERE CASE
    WHEN plain_case IS NOT NULL THEN coalesce(time_ratio * exp(-half_width) > 1, time_ratio >= 1.05)
    ELSE NOT EXISTS (
        FROM settings AS others
        WHERE others.session_id = compared.session_id AND others.model = compared.model AND others.has_unused
    )
END
