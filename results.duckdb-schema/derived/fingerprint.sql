-- One row per session, case, placement (nodes, ranks_per_node, threads), key of the fingerprint and value: the
-- software, hardware and settings of its runs, and the number of examples in their data set. Last attempts that were
-- started; facts that are unknown for a run have no row.
WITH begun AS (
    SELECT *, placement_of(nodes, ranks_per_node, axis, threads) AS placement
    FROM last_attempts()
    WHERE probe IS NOT TRUE AND status <> 'skipped'
),
facts AS (
    SELECT
        session_id, suite, case_name, workers, world_size, nodes, ranks_per_node, threads, device_type, run_id,
        placement,
        unnest(json_keys(fingerprint)) AS key,
        fingerprint ->> key AS value
    FROM begun
    UNION ALL
    SELECT
        session_id, suite, case_name, workers, world_size, nodes, ranks_per_node, threads, device_type, run_id,
        placement,
        'dataset_size', dataset_size::VARCHAR
    FROM begun
    WHERE dataset_size IS NOT NULL
),
counted AS (
    SELECT
        session_id, suite, case_name, workers, world_size, nodes, ranks_per_node, threads, placement, device_type,
        key, value,
        count(*) AS runs,
        min(run_id) AS first_run
    FROM facts
    GROUP BY ALL
),
compared AS (
    SELECT
        *,
        -- Two nodes use another transport than one node, so only equal placements are compared. A suite may set threads
        -- and data per case; settings belong to a case, and the batch depends on the number of ranks.
        CASE
            WHEN key IN ('nodes', 'transport') THEN placement
            WHEN key IN ('threads', 'dataset_size') THEN case_name
            WHEN key = 'settings' THEN case_name || ' ' || placement
            ELSE ''
        END AS scope,
        min(value) OVER (PARTITION BY session_id, device_type, key, scope) AS least,
        max(value) OVER (PARTITION BY session_id, device_type, key, scope) AS greatest
    FROM counted
),
final AS (
    SELECT
        session_id, suite, case_name, workers, world_size, nodes, ranks_per_node, threads, placement, device_type,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,  -- key: `SESSION/CASE/2x4.t8`
        key,                                   -- such as torch, gpu, transport; docs/methodology/sessions.md lists all
        fingerprint_class(key) AS class,       -- `must_equal` or `worth_knowing`
        value,                                 -- as text; several values of one run are joined by a comma
        runs,                                  -- number of runs of this case and placement that have this value
        first_run,                             -- first of these runs
        least <> greatest AS differs           -- whether it varies within the session, on one kind of device
    FROM compared
)
SELECT * FROM final;
