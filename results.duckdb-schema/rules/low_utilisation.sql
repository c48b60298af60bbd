-- title: The hardware is hardly used
-- severity: warning
-- meaning: While the ranks have data and are not waiting for each other, the device still does a small part of what it
--   could: operations are too small for it, or come too late one after the other. A faster device would not help.
--
-- Fires where GPUs ran a kernel in less than half of the time, and waiting for data explains less than half of the
-- rest (kernels of communication count as running); or where arithmetic is below 5 % of the device's peak for the
-- precision (else of what `matmul` achieved on such a device), while it computes: the parts of a step that go to data
-- and communication are taken off first, and where they are not known nothing is said. 5 % is a convention: large
-- language models reach 40 % (Chowdhery et al. 2022), ResNet-50 in bf16 some 7 % on an H100.
WITH parts AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        data_ms / nullif(step_ms, 0) AS data_share,
        (computation_ms + other_ms) / nullif(step_ms, 0) AS computing_share
    FROM step_parts
),
uses AS (
    SELECT
        *,
        gpu_util_pct / 100 AS busy,
        coalesce(mfu, matmul_share) AS used,
        if(mfu IS NULL, 'of what matmul achieved on such a device', 'of the peak of its device') AS of_what,
        used / computing_share AS used_while_computing,
        coalesce(busy < 0.5 AND data_share < 0.5 * (1 - busy), false) AS is_idle,
        coalesce(used_while_computing < 0.05, false) AS is_small
    FROM utilisation
    JOIN parts USING (session_id, case_name, nodes, ranks_per_node, threads)
    WHERE NOT oversubscribed
),
batches AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, scaling, batch_per_rank, global_batch
    FROM scaling
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    if(is_idle, 1 - busy, NULL) AS cost,
    concat_ws(
        '; ',
        if(is_idle, format('a kernel ran on the GPUs in {:.0f} % of the time', 100 * busy), NULL),
        if(
            is_small,
            format(
                'arithmetic in {} is {} {} while the ranks compute', precision, percent_text(used_while_computing),
                of_what
            ),
            NULL
        )
    ) AS evidence,
    'Give each step more to do: a larger batch per rank first of all, as far as memory allows.'
    || if(
        device_type = 'cuda',
        ' Then make fewer and larger kernels of it: train.compile, train.fused_optimizer'
        || if(precision = 'fp32', ', and bf16 for the matrix units.', '.'),
        ''
    ) AS advice,
    if(
        scaling = 'strong',
        knob_of(case_name, 'global_batch', 4 * global_batch),
        knob_of(case_name, 'batch_per_rank', 4 * batch_per_rank)
    ) AS knob
FROM uses
JOIN batches USING (session_id, case_name, nodes, ranks_per_node, threads)
WHERE is_idle OR is_small
