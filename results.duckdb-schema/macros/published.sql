-- Model and memory of a GPU, from its name: `Tesla V100-SXM2-16GB` is `V100 16GB`. Null if the name has no memory.
CREATE OR REPLACE MACRO gpu_of(device_name) AS
    regexp_extract(upper(device_name), '\b([A-Z]{1,3}[0-9]{2,4}[A-Z]?)\b', 1)
    || nullif(' ' || regexp_extract(upper(device_name), '\b([0-9]+) ?GB', 1) || 'GB', ' GB')
    || if(contains(upper(device_name), 'PCI'), ' PCIe', '');

-- Text of a fact that differs: `precision bf16, here fp32`; null if it is known to be the same.
CREATE OR REPLACE MACRO differs_in(fact, there, here, is_same) AS
    CASE
        WHEN is_same IS NOT TRUE
        THEN format('{} {}, here {}', fact, coalesce(there, 'unknown'), coalesce(here, 'unknown'))
    END;

-- One row per published curve of two sizes or more: the case of a session that is most like it, and what differs.
CREATE OR REPLACE MACRO published_next_to(session) AS TABLE
WITH facts AS (
    SELECT
        session_id, suite, case_name, scaling_mode,
        any_value(device_name) AS device_name,
        any_value(workload) AS workload,
        any_value(precision) AS precision,
        any_value(throughput_unit) AS throughput_unit,
        -- the batch is the one that stays the same as workers are added
        CASE WHEN scaling_mode = 'strong' THEN 'global batch' ELSE 'batch per rank' END AS batch_kind,
        CASE WHEN scaling_mode = 'strong' THEN any_value(global_batch) ELSE any_value(batch_per_rank) END AS batch,
        median(parameters) AS parameters,
        min(workers) AS least_workers,
        max(workers) AS most_workers
    FROM run_summary
    WHERE throughput IS NOT NULL AND axis = 'ranks'
    GROUP BY session_id, suite, case_name, scaling_mode
),
curves AS (
    SELECT facts.*, title
    FROM facts
    JOIN sessions USING (session_id)
    WHERE origin_of(imported) = 'published' AND scaling_mode <> 'none' AND most_workers > least_workers
),
here AS (
    SELECT facts.* FROM facts
    JOIN sessions USING (session_id)
    WHERE session_id = session AND origin_of(imported) <> 'published'
),
pairs AS (
    SELECT
        curves.session_id, curves.suite, curves.title, curves.case_name, curves.workload,
        curves.least_workers, curves.most_workers, curves.throughput_unit,
        here.case_name AS nearest_case,
        here.throughput_unit = curves.throughput_unit AS is_same_unit,
        list_filter([
            differs_in('GPU', curves.device_name, here.device_name,
                gpu_of(curves.device_name) = gpu_of(here.device_name)),
            differs_in('model', curves.workload, here.workload,
                curves.workload = here.workload
                AND coalesce(abs(here.parameters / curves.parameters - 1) < 0.01, true)),
            differs_in('precision', curves.precision, here.precision, curves.precision = here.precision),
            differs_in(curves.batch_kind, curves.batch::VARCHAR, here.batch::VARCHAR || if(
                    curves.batch_kind = here.batch_kind, '', ' ' || replace(here.batch_kind, 'batch ', '')
                ), curves.batch_kind = here.batch_kind AND curves.batch = here.batch)
        ], lambda fact: fact IS NOT NULL) AS differences
    FROM curves
    CROSS JOIN here
),
closest AS (
    SELECT *
    FROM pairs
    QUALIFY row_number() OVER (
        PARTITION BY session_id, case_name ORDER BY len(differences), nearest_case
    ) = 1
),
places AS (
    SELECT session_id, case_name, min(rowid) AS place FROM planned_runs GROUP BY session_id, case_name
),
by_model AS (
    SELECT
        *, row_number() OVER (
            PARTITION BY session_id, workload
            ORDER BY len(differences), most_workers / least_workers DESC, place, case_name
        ) AS of_model
    FROM closest
    LEFT JOIN places USING (session_id, case_name)
),
by_source AS (
    SELECT
        *, row_number() OVER (
            PARTITION BY session_id
            ORDER BY of_model, len(differences), most_workers / least_workers DESC, place, case_name
        ) AS of_source
    FROM by_model
),
final AS (
    SELECT
        session_id, suite, title,
        case_name,                     -- name of the published curve
        least_workers,                 -- smallest size of the curve
        most_workers,                  -- largest size of the curve
        throughput_unit,
        nearest_case,                  -- case of the session that is most like the curve
        is_same_unit,                  -- whether the throughput of both has one unit
        -- differences: GPU, model, precision or batch of curve and case, where they differ or one is unknown
        differences,
        -- likeness: 1 is drawn first: curves without a difference, then one of each source and of each model
        row_number() OVER (
            ORDER BY len(differences) = 0 DESC, of_source, len(differences), session_id
        ) AS likeness,
        count(*) OVER () AS curves     -- number of published curves
    FROM by_source
)
SELECT * FROM final ORDER BY likeness;
