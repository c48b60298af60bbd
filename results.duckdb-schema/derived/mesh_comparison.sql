-- One row per session, placement and case of several that train the same on the same ranks, of which one at least uses
-- tensor parallelism or a mesh: workload, data, training settings except the micro-batches, device and global batch
-- are the same. Each is compared with the fastest: Student's t on the differences of ln(throughput)
-- within rounds, or Welch's t (see `ratio_half_width`), with Bonferroni's correction for the number of others. The
-- fastest one is decided if all intervals begin above 1: a slower one is then named in 2.5 % of such sessions at most.
-- Because the fastest is chosen by its result, the intervals hold all at once in less than 95 % of sessions.
WITH settings AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        any_value(concat_ws(
            ' ', config ->> '$.workload_options', config ->> '$.data',
            json_merge_patch(config -> '$.train', '{"accumulate": null, "micro_batch": null}')
        )) AS settings
    FROM runs
    WHERE probe IS NOT TRUE
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
points AS (
    SELECT
        placements.*,
        settings,
        bool_or(strategy IN ('tp', 'mesh')) OVER alike AS has_a_mesh,
        count(*) OVER alike AS alternatives,
        row_number() OVER (
            PARTITION BY
                session_id, nodes, ranks_per_node, threads, workload, settings, precision, device_type, global_batch
            ORDER BY throughput DESC, case_name
        ) AS place
    FROM placements
    JOIN settings USING (session_id, case_name, nodes, ranks_per_node, threads)
    WHERE repeats > 0 AND world_size > 1 AND NOT oversubscribed
    WINDOW alike AS (
        PARTITION BY
            session_id, nodes, ranks_per_node, threads, workload, settings, precision, device_type, global_batch
    )
),
paired AS (
    SELECT
        points.*,
        fastest.case_name AS fastest_case,
        log_ratio(fastest.logs, points.logs, fastest.stops_early OR points.stops_early) AS slower,
        exp(slower['point']) AS time_ratio,
        coalesce(slower['rounds'], least(len(fastest.logs), len(points.logs))) - 1 AS df
    FROM points
    JOIN points AS fastest
        USING (
            session_id, nodes, ranks_per_node, threads, workload, settings, precision, device_type, global_batch
        )
    WHERE fastest.place = 1 AND points.has_a_mesh AND points.alternatives > 1
),
with_interval AS (
    SELECT
        *,
        t_quantile_at(0.05 / (alternatives - 1), greatest(df, 1)) / t_quantile(greatest(df, 1)) AS widening,
        exp(slower.point - widening * (slower.point - slower.lo)) AS time_ratio_lo,
        exp(slower.point + widening * (slower.hi - slower.point)) AS time_ratio_hi
    FROM paired
),
parts AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        CASE WHEN known_by = 'profiled' THEN communication_ms / rank_step_ms_mean END AS communication_share
    FROM step_parts
),
dimensions AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        if(count(*) > 1, arg_max(dimension, exposed_ms), NULL) AS most_exposed_dimension
    FROM communication_by_group
    WHERE exposed_ms > 0
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
final AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        placement, workload, precision, device_type, global_batch, strategy, repeats,
        alternatives,         -- cases that are compared, with this one
        fastest_case,         -- case with the highest throughput, which may be this one
        place = 1 AS is_fastest,  -- whether this case is fastest_case
        -- time_ratio: time per example divided by that of the fastest: 1 for itself, else above 1
        if(place = 1, 1, time_ratio) AS time_ratio,
        if(place = 1, NULL, time_ratio_lo) AS time_ratio_lo,
        if(place = 1, NULL, time_ratio_hi) AS time_ratio_hi,
        -- is_decided: whether the fastest is faster than all others beyond noise
        coalesce(
            bool_and(place = 1 OR coalesce(time_ratio_lo > 1, false)) OVER (
                PARTITION BY session_id, nodes, ranks_per_node, threads, fastest_case
            ),
            false
        ) AS is_decided,
        communication_share,  -- exposed communication of a step, from profiled steps; null if none were profiled
        most_exposed_dimension  -- dimension with most of that; null if there is only one, or no profiled step
    FROM with_interval
    LEFT JOIN dimensions USING (session_id, case_name, nodes, ranks_per_node, threads)
    LEFT JOIN parts USING (session_id, case_name, nodes, ranks_per_node, threads)
)
SELECT * FROM final;
