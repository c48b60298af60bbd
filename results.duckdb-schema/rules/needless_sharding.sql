-- title: Unneeded sharding
-- severity: warning
-- meaning: FSDP spreads model, gradients and optimizer state over the ranks, at the price of communication that DDP
--   does not need. If DDP fits anyway, this price buys only free memory. Results with gloo on CPUs say little about
--   GPUs, because gloo makes each reduce-scatter a whole all-reduce.
--
-- Fires if strategy_comparison recommends DDP because the same training is slower under the other strategy, beyond
-- noise and by 5 % or more. Smaller differences count as equally fast, and the finding is likely if the interval
-- begins below 5 %. DDP must also leave at least a fifth of the memory free: less may not be enough in a long run,
-- whose memory fragments.
WITH room AS (
    SELECT session_id, case_name AS reference_case, nodes, ranks_per_node, threads, free_share
    FROM memory
),
options AS (
    SELECT session_id, case_name, any_value(config -> '$.strategy_options') AS strategy_options
    FROM runs
    GROUP BY session_id, case_name
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(time_ratio_lo >= 1.05, 'shown', 'likely') AS certainty,
    1 - 1 / time_ratio AS cost,
    format(
        'compared with {} on as many ranks ({}), a step takes {:.2f} times [{:.2f}, {:.2f}] as long; {} leaves {} of the '
        'memory free',
        reference_strategy, reference_case, time_ratio, time_ratio_lo, time_ratio_hi, reference_strategy,
        percent_text(free_share)
    ) AS evidence,
    'Use DDP as long as it fits.' AS advice,
    CASE
        WHEN strategy = 'fsdp'
        THEN 'If you need the memory, such as for a larger batch, set reshard: grad_op, which keeps gathered '
            'parameters until backward is done.'
    END AS alternatives,
    strategy_option_of(case_name, strategy_options, reference_strategy) AS options
FROM strategy_comparison
JOIN room USING (session_id, reference_case, nodes, ranks_per_node, threads)
JOIN options USING (session_id, case_name)
WHERE recommendation = reference_strategy AND fits AND reference_fits AND world_size > 1
    AND time_ratio >= 1.05 AND free_share >= 0.2
