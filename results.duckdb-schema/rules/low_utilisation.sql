-- title: The hardware could do more
-- severity: warning
-- meaning: While the ranks have data and do not wait for each other, the device still does only a small part of the
--   work that it could. Its operations are too small, or start too late one after another. A faster device would not
--   help.
--
-- Fires in two cases. First, GPUs ran a kernel less than half of the time, and waiting for data explains less than
-- half of the rest (communication kernels count as running). Second, arithmetic during computation is below 5 % of the
-- device's peak for the precision, or, if the peak is unknown, of the rate that `matmul` achieved on such a device.
-- For this case, the parts of a step for data and communication are subtracted first; it does not apply if they are
-- unknown. 5 % is a convention: large language models reach 40 % (Chowdhery et al. 2022), ResNet-50 in bf16 about 7 %
-- on an H100. With several repeats, both cases use the upper end of the interval over them. The advised batch is up to
-- four times as large, if a fifth of the memory would stay free and a step stays within the data set. If that is
-- unknown, no batch is advised.
WITH parts AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        data_ms / nullif(rank_step_ms_mean, 0) AS data_share,
        (computation_ms + other_ms) / nullif(rank_step_ms_mean, 0) AS computing_share,
        known_by
    FROM step_parts
),
busy_shares AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        avg(gpu_busy_share) AS busy,
        busy + mean_half_width(count(gpu_busy_share), var_samp(gpu_busy_share)) AS busy_hi
    FROM hardware_use
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
uses AS (
    SELECT
        *,
        coalesce(mfu, matmul_share) AS used,
        used * flops_per_s_hi / flops_per_s AS used_hi,
        if(mfu IS NULL, 'of the rate that matmul achieved on such a device', 'of the peak of the device') AS of_what,
        used / computing_share AS used_while_computing,
        coalesce(coalesce(busy_hi, busy) < 0.5 AND data_share < 0.5 * (1 - busy), false) AS is_idle,
        coalesce(coalesce(used_hi, used) / computing_share < 0.05, false) AS is_small
    FROM utilisation
    JOIN parts USING (session_id, case_name, nodes, ranks_per_node, threads)
    LEFT JOIN busy_shares USING (session_id, case_name, nodes, ranks_per_node, threads)
    WHERE NOT oversubscribed
),
-- The largest power of two up to 4 at which a fifth of the memory stays free and a step is within the data set.
room AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, compared,
        (2 ** floor(log2(least(4, 0.8 / nullif(1 - free_share, 0), coalesce(largest_factor, 4)))))::BIGINT AS factor
    FROM memory
    JOIN compared_cases USING (session_id, case_name)
    WHERE oom_runs = 0 AND free_share < 1 AND largest_factor IS DISTINCT FROM 0
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    CASE WHEN is_idle AND busy_hi IS NOT NULL THEN 'shown' ELSE certainty_of(known_by, used_hi) END AS certainty,
    if(is_idle, 1 - busy, NULL) AS cost,
    concat_ws(
        '; ',
        if(is_idle, format('a kernel ran on the GPUs {:.0f} % of the time', 100 * busy), NULL),
        if(
            is_small,
            format(
                'while the ranks compute, arithmetic in {} reaches {} {}', precision,
                percent_text(used_while_computing), of_what
            ),
            NULL
        )
    ) AS evidence,
    'Give each step more work: first of all a larger batch per rank, as far as memory and data allow.' AS advice,
    if(
        device_type = 'cuda',
        'Then use fewer and larger kernels: train.compile, train.fused_optimizer'
        || if(precision = 'fp32', ', and bf16 for the matrix units.', '.'),
        NULL
    ) AS alternatives,
    CASE WHEN factor >= 2 THEN batch_option_of(compared, factor) END AS options
FROM uses
LEFT JOIN room USING (session_id, case_name, nodes, ranks_per_node, threads)
WHERE is_idle OR is_small
