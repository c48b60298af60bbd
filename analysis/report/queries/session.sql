-- One row: the session, with what its runs have in common.
WITH last_runs AS (
    SELECT * FROM run_summary WHERE session_id = $session_id
),
counted AS (  -- every run, planned or not
    SELECT
        coalesce(sum(ok + oom + failed + timeout + interrupted + skipped + missing), 0)::BIGINT AS runs,
        coalesce(sum(ok), 0)::BIGINT AS ok,
        coalesce(sum(skipped), 0)::BIGINT AS skipped
    FROM coverage
    WHERE session_id = $session_id
),
facts AS (
    SELECT
        coalesce(bool_or(oversubscribed AND status <> 'skipped'), false) AS oversubscribed,
        coalesce(bool_or(device_type = 'cpu' AND strategy = 'fsdp' AND world_size > 1 AND status <> 'skipped'), false)
            AS fsdp_on_cpu,
        coalesce(bool_or(device_type = 'cpu' AND workload = 'collectives' AND status <> 'skipped'), false)
            AS collectives_on_cpu,
        coalesce(bool_or(data_source = 'synthetic'), false) AS synthetic,
        list(DISTINCT case_name ORDER BY case_name) FILTER (measured_recompiles > 0) AS recompiled,
        string_agg(DISTINCT device_name, ', ' ORDER BY device_name) AS devices,
        string_agg(DISTINCT workload, ', ' ORDER BY workload) AS workloads,
        string_agg(DISTINCT throughput_unit, ', ' ORDER BY throughput_unit) AS throughput_units,
        sum(elapsed_s) AS elapsed_s
    FROM last_runs
)
SELECT session_id, suite, title, why, created_at, finished_at, command, quick,
    list_filter(tags, lambda tag: trim(tag) <> '') AS tags, slots, imported, counted.*, facts.*,
    origin_of(imported) <> 'published' AS is_judged,  -- by the rules of diagnosis
    coalesce((SELECT is_busy FROM other_work WHERE session_id = $session_id), false) AS is_busy
FROM sessions, counted, facts
WHERE session_id = $session_id;
