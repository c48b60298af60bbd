-- title: Sharding that is not needed
-- severity: warning
-- meaning: FSDP spreads model, gradients and optimizer state over the ranks and pays with communication that DDP does
--   not have. Where DDP fits anyway, that price buys nothing but free memory. What gloo shows on CPUs says little of
--   GPUs: it makes a whole all-reduce of each reduce-scatter.
--
-- Fires where strategy_comparison recommends DDP since the same training is slower under the other strategy, for
-- certain and by 5 % or more (what is closer it calls as fast; likely where the interval begins below that), and DDP
-- leaves at least a fifth of the memory free: less may not be enough in a long run, whose memory fragments.
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
        'a step takes {:.2f} times [{:.2f}, {:.2f}] as long as under {} ({}), which leaves {} of the memory free',
        time_ratio, time_ratio_lo, time_ratio_hi, reference_strategy, reference_case, percent_text(free_share)
    ) AS evidence,
    'Use DDP for as long as it fits.' || CASE
        WHEN strategy = 'fsdp'
        THEN ' If you need the memory, as for a larger batch, let reshard: grad_op keep gathered parameters until '
            'backward is done.'
        ELSE ''
    END AS advice,
    strategy_knob_of(case_name, strategy_options, reference_strategy) AS knob
FROM strategy_comparison
JOIN room USING (session_id, reference_case, nodes, ranks_per_node, threads)
JOIN options USING (session_id, case_name)
WHERE recommendation = reference_strategy AND fits AND reference_fits AND world_size > 1
    AND time_ratio >= 1.05 AND free_share >= 0.2
