-- title: The largest loss is unexplained
-- severity: notice
-- meaning: Efficiency is lost, and the measurements do not show where. Without profiled steps, communication, waiting
--   for other ranks and computation cannot be distinguished in every strategy.
--
-- Fires if the remainder is the largest term of efficiency_loss and at least 10 % of the ranks' time, with its
-- interval above 5 %. Without an interval the finding is likely. Does not fire if the repeats do not
-- show how much was lost (is_loss_unknown), if pauses explain half of it (regular_pauses), nor for imports, which have
-- no steps.
WITH largest AS (
    SELECT * FROM efficiency_loss
    WHERE share IS NOT NULL AND NOT oversubscribed AND efficiency < 1
        AND NOT is_loss_unknown(efficiency_lo, efficiency_hi)
    QUALIFY row_number() OVER (
        PARTITION BY session_id, case_name, nodes, ranks_per_node, threads ORDER BY share DESC, term_order
    ) = 1
),
-- Pauses that the baseline does not have as well.
pausing AS (
    SELECT
        here.session_id, here.case_name, here.nodes, here.ranks_per_node, here.threads,
        here.share - coalesce(there.share, 0) AS pause_share
    FROM regular_pauses AS here
    JOIN scaling USING (session_id, case_name, nodes, ranks_per_node, threads)
    LEFT JOIN regular_pauses AS there
        ON there.session_id = here.session_id AND there.case_name = baseline_case AND there.nodes = baseline_nodes
        AND there.ranks_per_node = baseline_ranks_per_node AND there.threads = baseline_threads
),
imports AS (
    SELECT session_id FROM sessions WHERE imported IS NOT NULL
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(share_lo IS NULL, 'likely', 'shown') AS certainty,
    share AS cost,
    format(
        '{} of the {}'' time is lost to no known cause{}; {} is lost in total',
        share_text(share, share_lo, share_hi), axis,
        CASE
            WHEN largest.known_by IS NULL AND largest.world_size > 1
            THEN ' (including communication, which was not measured)'
            WHEN largest.known_by = 'profiled' THEN ', although steps were profiled'
            ELSE ''
        END,
        percent_text(1 - efficiency)
    ) AS evidence,
    if(
        largest.known_by = 'profiled',
        'Look at the timeline of a step (--trace, then ui.perfetto.dev): time in neither computation nor communication '
        'is Python, launches and copies.',
        'Profile some steps after the measured ones to distinguish the parts; no other result changes.'
    ) AS advice,
    if(largest.known_by = 'profiled', '--trace', profile_option()) AS options
FROM largest
LEFT JOIN pausing USING (session_id, case_name, nodes, ranks_per_node, threads)
WHERE term = 'remainder' AND share >= 0.1 AND coalesce(share_lo, share) > 0.05
    AND session_id NOT IN (SELECT session_id FROM imports)
    AND coalesce(pause_share, 0) < 0.5 * share
