-- One row per session and case: the cases whose figures are compared with each other, i.e. its baseline, itself and
-- other cases with that baseline. An argument that changes a basis of the comparison must change it in all of these
-- cases.
WITH cases AS (
    SELECT
        session_id, case_name,
        split_part(case_name, '~', 1) AS name,
        any_value(coalesce(baseline, case_name)) AS baseline_case,
        -- a fraction is a mean of counted tokens, which differs by chance
        any_value(workload || ' ' || if(tokens_per_example % 1 = 0, tokens_per_example, 0)) AS workload,
        any_value(precision) AS precision,
        any_value(if(scaling_mode = 'strong', 'global_batch', 'batch_per_rank')) AS batch_key,
        max(if(scaling_mode = 'strong', global_batch, batch_per_rank)) FILTER (probe IS NOT TRUE) AS batch,
        max(global_batch) FILTER (probe IS NOT TRUE) / min(dataset_size) AS epoch_share
    FROM runs
    GROUP BY session_id, case_name
    HAVING bool_or(probe IS NOT TRUE)
),
-- Cases that a matrix made from one case share its settings, so one argument sets them all.
pairs AS (
    SELECT
        cases.session_id, cases.case_name,
        others.* EXCLUDE (session_id, case_name),
        others.case_name AS other_case
    FROM cases
    JOIN cases AS others USING (session_id, baseline_case)
    QUALIFY row_number() OVER (
        PARTITION BY cases.session_id, cases.case_name, others.name
        ORDER BY others.case_name <> cases.case_name, others.case_name
    ) = 1
),
final AS (
    SELECT
        session_id, case_name,
        -- compared: each case's name, the key of its batch and that batch; itself first, and only one case per matrix
        list(
            {'case_name': other_case, 'batch_key': batch_key, 'batch': batch}
            ORDER BY other_case <> case_name, other_case
        ) AS compared,
        -- has_one_workload: whether all of them train the same workload, on examples with equally many tokens
        count(DISTINCT workload) = 1 AS has_one_workload,
        count(DISTINCT precision) = 1 AS has_one_precision,  -- whether all of them train in the same precision
        -- largest_factor: factor by which the batches can grow until a step covers an epoch
        floor(1 / max(epoch_share)) AS largest_factor
    FROM pairs
    GROUP BY session_id, case_name
)
SELECT * FROM final;
