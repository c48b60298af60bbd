-- One row per case: the specification of its first run; a workload from a custom file without its folder.
SELECT case_name, any_value(workload) AS workload, any_value(scaling_mode) AS scaling_mode,
    any_value(strategy) AS strategy,
    any_value(parameters) AS parameters,
    any_value(dataset_size) AS dataset_size, any_value(data_source) AS data_source,
    json_merge_patch(arg_min(config, (workers, nodes, repeat)), json_object('workload', any_value(workload))) AS config
FROM runs
WHERE session_id = $session_id AND probe IS NOT TRUE
GROUP BY case_name
ORDER BY case_name;
