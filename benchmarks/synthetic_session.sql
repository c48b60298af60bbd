-- A session of made-up measurements. Parameters: session_id, cases, largest_power (sizes 2^0 to 2^it), repeats,
-- steps, ranks_per_node, evals, sample_hz, device_type. Case k has a serial fraction that grows with k.
CREATE TEMP TABLE made_cases AS
SELECT
    'case_' || lpad(k::VARCHAR, 4, '0') AS case_name,
    k,
    ['ddp', 'fsdp'][1 + k % 2] AS strategy,
    if(k % 3 = 2, 'weak', 'strong') AS scaling_mode,
    0.01 + 0.3 * (hash(k) % 1000) / 1000 AS serial_fraction,
    0.05 + 0.4 * (hash(k + 7) % 1000) / 1000 AS base_step_s
FROM range(getvariable('cases')) AS numbers(k);

INSERT INTO sessions BY NAME
SELECT
    getvariable('session_id') AS session_id, 'synthetic' AS suite, 'Made-up measurements' AS title,
    'How large does a report become?' AS why, TIMESTAMP '2026-11-21 01:49:25' AS created_at,
    TIMESTAMP '2026-11-21 02:49:25' AS finished_at, ['bench', 'suite', 'synthetic'] AS command, false AS quick,
    []::VARCHAR[] AS tags, '{}' AS resolved, '{}' AS slots;

INSERT INTO runs BY NAME
WITH sizes AS (
    SELECT 1 << power AS workers FROM range(getvariable('smallest_power'), getvariable('largest_power') + 1) AS powers(power)
)
SELECT
    getvariable('session_id') AS session_id,
    format('{}.{}x{}.r{}', case_name, nodes, workers // nodes, repeat) AS run_id,
    0 AS attempt, 'synthetic' AS suite, case_name, 'spiral_mlp' AS workload, strategy, scaling_mode, 'ranks' AS axis,
    workers, workers AS world_size, nodes, workers // nodes AS ranks_per_node, 1 AS threads,
    false AS oversubscribed, repeat, getvariable('device_type') AS device_type,
    if(getvariable('device_type') = 'cuda', 'NVIDIA H200', 'cpu') AS device_name, 'bf16' AS precision,
    1024 // workers AS batch_per_rank, 1024 AS global_batch,
    if(scaling_mode = 'weak', 64 * workers, 1024) AS examples_per_step, 1 AS accumulate, 2804 AS parameters,
    4 AS units,
    50000 AS dataset_size, 'synthetic' AS data_source, 'ok' AS status,
    TIMESTAMP '2026-11-21 01:49:25' AS started_at,
    2.0 + getvariable('steps') * base_step_s AS elapsed_s, 1.0 AS setup_s, getvariable('steps') AS steps_completed,
    []::VARCHAR[] AS tags,
    '{"torch": "2.15.0", "driver": "575.57.08", "gpu0_name": "NVIDIA H200", "python": "3.11.7"}' AS fingerprint,
    json_object('train', json_object('learning_rate', 0.0002, 'group', k // 6), 'k', k)::VARCHAR AS config
FROM made_cases, sizes, range(getvariable('repeats')) AS repeats(repeat),
    (SELECT getvariable('ranks_per_node') AS per_node), LATERAL (SELECT greatest(1, workers // per_node) AS nodes)
ORDER BY k, repeat, workers;

INSERT INTO planned_runs BY NAME
SELECT session_id, run_id, case_name, strategy, scaling_mode, axis, workers, world_size, nodes, ranks_per_node, threads,
    repeat
FROM runs WHERE session_id = getvariable('session_id');

INSERT INTO environment
SELECT getvariable('session_id'), node, key, value
FROM range(4) AS nodes(node), (VALUES ('hostname', 'node'), ('torch', '2.15.0'), ('os', 'Debian')) AS facts(key, value);

CREATE TEMP TABLE made_runs AS
SELECT
    runs.session_id, run_id, attempt, repeat, runs.scaling_mode, workers, ranks_per_node, k,
    1e9 * base_step_s * if(runs.scaling_mode = 'weak', 1 + serial_fraction * ln(workers),
        serial_fraction + (1 - serial_fraction) / workers) * (1 + 0.01 * ((hash(run_id) % 100) / 50 - 1)) AS step_ns
FROM runs JOIN made_cases USING (case_name)
WHERE runs.session_id = getvariable('session_id');

INSERT INTO steps BY NAME
WITH noisy AS (
    SELECT
        session_id, run_id, attempt, rank::INTEGER AS rank, rank // ranks_per_node AS node, step::INTEGER AS step,
        if(step < getvariable('steps') // 10, 'warmup', 'measured') AS kind,
        step * step_ns AS start_ns,
        step_ns * (0.97 + 0.03 * random() + if(random() < 0.01, 0.3, 0)) AS step_ns,
        2.3 * exp(-0.004 * step * (1 + k % 7)) + 0.05 * random() + 0.2 AS loss,
        1e9 * (1 + k % 11) AS memory_bytes
    FROM made_runs, range(getvariable('steps')) AS numbers(step), range(workers) AS ranks(rank)
)
SELECT
    session_id, run_id, attempt, rank, node, step, kind, start_ns::BIGINT AS start_ns, step_ns::BIGINT AS step_ns,
    (step_ns * 0.1)::BIGINT AS data_ns, (step_ns * 0.3)::BIGINT AS forward_ns, (step_ns * 0.5)::BIGINT AS backward_ns,
    (step_ns * 0.1)::BIGINT AS optimizer_ns, loss, memory_bytes::BIGINT AS memory_allocated_bytes,
    (memory_bytes * 1.25)::BIGINT AS memory_reserved_bytes
FROM noisy;

INSERT INTO samples BY NAME
SELECT
    session_id, run_id, attempt, node::INTEGER AS node, device::INTEGER AS device,
    (1e9 * reading / getvariable('sample_hz'))::BIGINT AS time_ns,
    if(device IS NOT NULL, 0.8 + 0.2 * random(), NULL) AS gpu_busy_share,
    if(device IS NOT NULL, 1e10::BIGINT, NULL) AS memory_used_bytes,
    if(device IS NOT NULL, 500 + 150 * random(), NULL) AS power_w,
    if(device IS NOT NULL, 55 + 8 * random(), NULL) AS temperature_c,
    if(device IS NOT NULL, 1900 + 80 * random(), NULL) AS sm_clock_mhz,
    if(device IS NULL, 0.4 + 0.2 * random(), NULL) AS cpu_busy_share
FROM made_runs,
    LATERAL (SELECT unnest(range(workers // ranks_per_node)) AS node),
    LATERAL (SELECT unnest(if(getvariable('device_type') = 'cuda', range(ranks_per_node) || [NULL], [NULL])) AS device),
    LATERAL (SELECT unnest(range(1 + (getvariable('steps') * step_ns / 1e9 * getvariable('sample_hz'))::BIGINT)) AS reading);

INSERT INTO evals BY NAME
SELECT
    session_id, run_id, attempt, (getvariable('steps') * validation // getvariable('evals'))::INTEGER AS step,
    validation AS epoch, 2.3 * exp(-0.4 * validation * (1 + k % 7) / 7) + 0.3 AS val_loss,
    0.95 - 0.85 * exp(-0.4 * validation * (1 + k % 7) / 7) AS val_accuracy, 0.4 AS elapsed_s
FROM made_runs, range(1, getvariable('evals') + 1) AS numbers(validation);

