-- The settings of a run that its training depends on and in which two specifications (runs.config) differ, as text:
-- `global_batch: 64 → 256, train.precision: fp32 → bf16`; `none` where one has no such setting; null where both agree
-- or one is unknown. Names are those of the suite's keys. Of the two batches the one that the suite sets stands.
CREATE OR REPLACE MACRO settings_difference(baseline_config, candidate_config) AS (
    WITH named AS (
        SELECT unnest([
            'workload', 'workload_options', 'data', 'train', 'measure', 'strategy', 'strategy_options',
            'global_batch', 'batch_per_rank', 'threads'
        ]) AS part
    ),
    parts AS (
        SELECT
            part,
            json_extract(baseline_config, part) AS baseline,
            json_extract(candidate_config, part) AS candidate,
            'OBJECT' IN (json_type(baseline), json_type(candidate)) AS has_keys
        FROM named
        WHERE part <> CASE candidate_config ->> 'scaling' WHEN 'strong' THEN 'batch_per_rank' ELSE 'global_batch' END
    ),
    keys AS (
        SELECT
            part,
            unnest(list_distinct(list_concat(
                coalesce(json_keys(baseline), []::VARCHAR[]), coalesce(json_keys(candidate), []::VARCHAR[])
            ))) AS key,
            baseline,
            candidate
        FROM parts
        WHERE has_keys
    ),
    facts AS (
        SELECT
            part AS name,
            -- of one's own workload without the folder
            regexp_extract(baseline ->> '$', '[^/]*$') AS baseline,
            regexp_extract(candidate ->> '$', '[^/]*$') AS candidate
        FROM parts
        WHERE has_keys IS NOT TRUE
        UNION ALL
        SELECT
            CASE part
                WHEN 'workload_options' THEN 'workload'
                WHEN 'strategy_options' THEN 'strategy'
                ELSE part
            END || '.' || key,
            baseline ->> key,
            candidate ->> key
        FROM keys
        -- How often a run is repeated, until what and for how long changes none that is ok, nor does what follows
        -- its measured steps.
        WHERE part <> 'measure'
            OR key NOT IN ('repeats', 'until', 'max_repeats', 'timeout_s', 'nonfinite', 'profiled', 'selfcheck')
    ),
    final AS (
        SELECT string_agg(
            name || ': ' || coalesce(baseline, 'none') || ' → ' || coalesce(candidate, 'none'), ', ' ORDER BY name
        ) AS difference
        FROM facts
        WHERE baseline IS DISTINCT FROM candidate
            AND baseline_config IS NOT NULL AND candidate_config IS NOT NULL
    )
    SELECT difference FROM final
);
