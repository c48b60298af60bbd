-- title: Fastest mesh
-- severity: notice
-- meaning: The same training can be divided among the same ranks by data or tensor parallelism, or both. The fastest
--   way depends on the model, the batch and the network, so the answer holds for these alone.
--
-- Fires on the fastest of several cases that train the same on as many ranks, if one of them uses tensor
-- parallelism. The finding is shown if the case is faster than each other one beyond noise, for all of them together.
-- Otherwise it is likely, and fires only if the case is 5 % faster than the next.
WITH others AS (
    SELECT
        session_id, nodes, ranks_per_node, threads, fastest_case AS case_name,
        bool_and(is_decided) AS is_decided,
        arg_min({'case_name': case_name, 'ratio': time_ratio, 'lo': time_ratio_lo, 'hi': time_ratio_hi}, time_ratio)
            AS next,
        -- the reason that is known of each
        string_agg(
            CASE
                WHEN communication_share >= 0.1
                THEN format(
                    '{} communicates {} of the time{}',
                    case_name, percent_text(communication_share),
                    coalesce(', most of it over ' || most_exposed_dimension, '')
                )
            END,
            '; ' ORDER BY time_ratio
        ) AS reasons,
        bool_or(communication_share IS NULL) AS is_communication_unknown
    FROM mesh_comparison
    WHERE NOT is_fastest
    GROUP BY session_id, nodes, ranks_per_node, threads, fastest_case
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(is_decided, 'shown', 'likely') AS certainty,
    format(
        '{} times as fast as the next, {}{}{}',
        number_text(next.ratio), next.case_name,
        if(
            is_decided, format(' [{}, {}]', number_text(next.lo), number_text(next.hi)),
            '; repeats differ by more than that, so it is not certain'
        ),
        coalesce('; ' || reasons, '')
    ) AS evidence,
    if(
        is_decided,
        'Train this model in this way on these ranks.',
        'Repeat the fastest ones more often before you choose.'
    ) AS advice,
    if(
        is_communication_unknown,
        'To see why the others are slower, add --set measure.profiled=4.', NULL
    ) AS alternatives
FROM others
WHERE is_decided OR next.ratio >= 1.05
