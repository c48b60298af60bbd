-- title: Unused memory for a larger batch
-- severity: notice
-- meaning: Exchanging gradients costs the same once per step for any batch, and small pieces of work leave a device
--   partly idle. A larger batch per rank spreads both over more examples, and there is memory for it.
--
-- Fires if exposed communication and, under strong scaling, slower computation together take at least a tenth of the
-- ranks' time, and more than any other term, while at most two fifths of the memory are in use: twice the batch then
-- leaves a fifth free. The finding is shown if the larger of the two is certainly above zero. Slower computation of
-- ranks that share a CPU is likely at most, because they slow each other down. Fires only on GPUs, or with a memory
-- limit in the suite. The rule assumes that memory grows as fast as the batch; that is too much, because parameters do
-- not grow.
WITH terms AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, scaling_mode, world_size,
        sum(share) FILTER (depends_on_batch AND least_share_of(known_by, share, share_lo) > 0) AS batch_share,
        max(share) FILTER (NOT depends_on_batch) AS largest_other,
        any_value(known_by) AS known_by,
        arg_max(term, share) FILTER (depends_on_batch) AS larger_term,
        arg_max_null(share_lo, share) FILTER (depends_on_batch AND share IS NOT NULL) AS larger_lo
    FROM (
        SELECT *, term = 'communication' OR (term = 'work' AND scaling_mode = 'strong') AS depends_on_batch
        FROM efficiency_loss
    )
    WHERE axis = 'ranks' AND NOT oversubscribed AND NOT is_loss_unknown(efficiency_lo, efficiency_hi)
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads, scaling_mode, world_size
),
with_room AS (
    SELECT
        terms.*, free_share, memory.batch_per_rank, compared, largest_factor,
        larger_term = 'work' AND device_type = 'cpu' AND ranks_per_node > 1 AS may_share,
        -- The largest power of two at which a fifth stays free; at most 8, because learning changes too.
        (2 ** least(floor(log2(0.8 / (1 - free_share))), 3))::BIGINT AS factor
    FROM terms
    JOIN memory USING (session_id, case_name, nodes, ranks_per_node, threads)
    JOIN compared_cases USING (session_id, case_name)
    WHERE oom_runs = 0 AND free_share >= 0.6 AND free_share < 1
        AND (device_type = 'cuda' OR memory_limit_bytes IS NOT NULL)
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    certainty_of(known_by, CASE WHEN larger_lo > 0 AND NOT may_share THEN larger_lo END) AS certainty,
    batch_share AS cost,
    format(
        'with {} examples per rank, {} of the memory is free, while {} of the ranks'' time is lost to exposed '
        'communication and slower computation, most of it to {}',
        batch_per_rank, percent_text(free_share), percent_text(batch_share), loss_name(larger_term)
    ) AS evidence,
    format(
        'Give each rank up to {} times as many examples per step, for which there is memory; the learning rate then '
        'has to be chosen again, and from some size on a larger batch learns less from each example.',
        factor
    ) AS advice,
    CASE WHEN factor <= coalesce(largest_factor, factor) THEN batch_option_of(compared, factor) END AS options
FROM with_room
WHERE batch_share >= 0.1 AND batch_share > coalesce(largest_other, 0)
