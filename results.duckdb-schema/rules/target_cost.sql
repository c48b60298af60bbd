-- title: One factor costs most of the time to the target
-- severity: notice
-- meaning: The time to a target is the examples needed ÷ throughput ÷ share of the clock spent training. More workers
--   or larger batches change all three, so throughput alone does not say how much sooner the target is reached.
--
-- Fires if the repeats show which factor costs most from the baseline to the largest size: its interval is below 1 and
-- below those of the other two (`costs_most` of target_efficiency). If several sizes of a strategy have the same
-- baseline, the rule judges the one with the most workers, then with the largest batch. Does not fire without
-- intervals, nor on more ranks than slots.
WITH largest AS (
    SELECT *
    FROM target_efficiency
    WHERE NOT (is_baseline OR oversubscribed) AND baseline_case IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY session_id, baseline_case, strategy ORDER BY workers DESC, global_batch DESC, case_name, nodes
    ) = 1
),
worded AS (
    SELECT
        *,
        CASE costs_most
            WHEN 'throughput' THEN 'lower throughput per worker'
            WHEN 'examples' THEN 'slower progress per example'
            WHEN 'share' THEN 'the smaller share of the clock spent training'
        END AS factor_words,
        CASE costs_most
            WHEN 'throughput' THEN bounded_text(throughput_factor, throughput_factor_lo, throughput_factor_hi, NULL)
            WHEN 'examples' THEN bounded_text(examples_factor, examples_factor_lo, examples_factor_hi, bound)
            WHEN 'share' THEN bounded_text(share_factor, share_factor_lo, share_factor_hi, NULL)
        END AS factor_text,
        bounded_text(efficiency, efficiency_lo, efficiency_hi, bound) AS efficiency_text
    FROM largest
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(is_busy IS NOT TRUE OR costs_most = 'examples', 'shown', 'likely') AS certainty,
    format(
        'from {} on {} to {} on {} {}, {} costs most of the time to the target: a factor of {}, of an efficiency of {}',
        baseline_case, baseline_workers, case_name, workers, if(workers = 1, rtrim(axis, 's'), axis), factor_words,
        factor_text, efficiency_text
    ) AS evidence,
    CASE costs_most
        WHEN 'throughput' THEN 'The other findings say where throughput is lost.'
        WHEN 'examples' THEN
            'Tune the learning rate for this batch, or keep the baseline''s global batch and divide it among the '
            'workers: a larger batch learns less from each example.'
        WHEN 'share' THEN
            'Validate less often or on fewer examples, and shorten the start-up: the steps themselves do not '
            'cost most.'
    END AS advice
FROM worded
LEFT JOIN other_work USING (session_id)
WHERE costs_most IS NOT NULL
