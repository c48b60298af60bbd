-- One row per case: the specification of its first run.
SELECT case_name, any_value(parameters) AS parameters, any_value(dataset_size) AS dataset_size,
    any_value(data_source) AS data_source, arg_min(config, (workers, repeat)) AS config
FROM runs
WHERE session_id = $session_id
GROUP BY case_name
ORDER BY case_name;
