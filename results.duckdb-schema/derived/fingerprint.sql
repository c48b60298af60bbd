-- One row per session, case, placement, key of the fingerprint and value: what its runs were made with, and where. Last
-- attempts that were begun; what is not known of a run has no row.
WITH last_attempts AS (
    SELECT * FROM runs
    WHERE probe IS NOT TRUE
    QUALIFY row_number() OVER (PARTITION BY session_id, run_id ORDER BY attempt DESC) = 1
),
facts AS (
    SELECT
        session_id, suite, case_name, workers, world_size, device_type, run_id,
        placement_of(nodes, ranks_per_node, axis, threads) AS placement,
        unnest(json_keys(fingerprint)) AS key,
        fingerprint ->> key AS value
    FROM last_attempts
    WHERE status <> 'skipped'
),
counted AS (
    SELECT
        session_id, suite, case_name, workers, world_size, placement, device_type, key, value,
        count(*) AS runs,
        min(run_id) AS first_run
    FROM facts
    GROUP BY session_id, suite, case_name, workers, world_size, placement, device_type, key, value
),
compared AS (
    SELECT
        *,
        -- Ranks on two nodes talk over another transport than those on one: only the same placement says something.
        -- A suite may give every case threads of its own; settings are a case's own, and the batch follows the ranks.
        CASE
            WHEN key IN ('nodes', 'transport') THEN placement
            WHEN key = 'threads' THEN case_name
            WHEN key = 'settings' THEN case_name || ' ' || placement
            ELSE ''
        END AS scope,
        min(value) OVER (PARTITION BY session_id, device_type, key, scope) AS least,
        max(value) OVER (PARTITION BY session_id, device_type, key, scope) AS greatest
    FROM counted
),
final AS (
    SELECT
        session_id, suite, case_name, workers, world_size, placement, device_type,
        key,                                   -- such as torch, gpu, transport; docs/methodology.md has all
        fingerprint_class(key) AS class,       -- `must_equal` or `worth_knowing`
        value,                                 -- as text; several of one run are joined by a comma
        runs,                                  -- of this case and placement that have this value
        first_run,                             -- the first of these
        least <> greatest AS differs           -- within the session, on one kind of device
    FROM compared
)
SELECT * FROM final;
