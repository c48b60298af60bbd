-- Rows of the named files. The run of a file is in its metadata, which load has checked.
SELECT incoming_files.session_id, incoming_files.run_id, incoming_files.attempt, {columns}
FROM read_parquet({paths}, union_by_name = true, filename = '{path_column}', hive_partitioning = false) AS file
JOIN incoming_files ON incoming_files.path = file.{path_column}
