-- One row per session and case: the cases whose figures are compared with each other, its baseline, itself and what
-- else has that baseline. A knob that changes what they are compared on has to change it in all of them.
WITH cases AS (
    SELECT
        session_id, case_name,
        split_part(case_name, '~', 1) AS name,
        any_value(coalesce(baseline, case_name)) AS baseline_case,
        any_value(workload || ' ' || coalesce(tokens_per_example, 0)) AS workload,
        any_value(precision) AS precision,
        any_value(if(scaling = 'strong', 'global_batch', 'batch_per_rank')) AS batch_key,
        max(if(scaling = 'strong', global_batch, batch_per_rank)) AS batch,
        max(global_batch) / min(dataset_size) AS epoch_share
    FROM runs
    WHERE probe IS NOT TRUE
    GROUP BY session_id, case_name
),
-- What a matrix made of a case has its settings in common: one knob sets them all.
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
        -- compared: each case's name, the key of its batch and that batch; itself first, and one of those of a matrix
        list(
            {'case_name': other_case, 'batch_key': batch_key, 'batch': batch}
            ORDER BY other_case <> case_name, other_case
        ) AS compared,
        -- has_one_workload: whether they all train the same, on examples of as many tokens
        count(DISTINCT workload) = 1 AS has_one_workload,
        count(DISTINCT precision) = 1 AS has_one_precision,  -- whether they all train in the same
        floor(1 / max(epoch_share)) AS largest_factor  -- times their batches at which a step is still within an epoch
    FROM pairs
    GROUP BY session_id, case_name
)
SELECT * FROM final;
