-- One row per session, case, placement and factor with an ok run that took steps with longer or shorter messages
-- (`measure.wire`): how fast a step would be on a network of another bandwidth and the same latency. A step is compared
-- with the one of the same round whose messages have the training's bytes; both are those of the slowest rank. A run
-- counts with the median over its rounds. Figures are geometric means over repeats; intervals are two-sided 95 %:
-- Student's t on logarithms over repeats; for one repeat the interval of the median over rounds, null below six. If no
-- shorter message was possible, as under fsdp, the row of twice the bandwidth is a bound: a step's time is a convex
-- function of the messages' bytes, so halving the bytes saves at most half of what doubling them adds.
WITH asked AS (
    SELECT
        session_id, run_id, attempt,
        suite, case_name, nodes, ranks_per_node, threads, workers, world_size, placement, strategy, device_type
    FROM run_summary
    WHERE status = 'ok' AND world_size > 1
),
over_ranks AS (
    SELECT
        session_id, run_id, attempt, round, message_factor,
        max(step_ns) AS step_ns  -- without messages no rank waits for the slowest one
    FROM wire_steps
    GROUP BY session_id, run_id, attempt, round, message_factor
),
unchanged AS (
    SELECT session_id, run_id, attempt, round, step_ns AS unchanged_ns
    FROM over_ranks
    WHERE message_factor = 1
),
in_rounds AS (
    SELECT
        session_id, run_id, attempt, round, message_factor, step_ns,
        step_ns / unchanged_ns AS ratio
    FROM over_ranks
    JOIN unchanged USING (session_id, run_id, attempt, round)
    WHERE message_factor <> 1
),
each_repeat AS (
    SELECT
        session_id, run_id, attempt, message_factor,
        count(*) AS rounds,
        median(step_ns) / 1e6 AS step_ms,
        median(ratio) AS ratio,
        list_sort(list(ratio)) AS sorted_ratios
    FROM in_rounds
    GROUP BY session_id, run_id, attempt, message_factor
),
over_repeats AS (
    SELECT
        session_id, suite, case_name, nodes, ranks_per_node, threads, message_factor,
        any_value(workers) AS workers,
        any_value(world_size) AS world_size,
        any_value(placement) AS placement,
        any_value(strategy) AS strategy,
        any_value(device_type) AS device_type,
        count(*) AS repeats,
        min(rounds) AS rounds,
        avg(step_ms) AS step_ms,
        geometric_mean(ratio) AS time_ratio,
        exp(mean_half_width(count(*), variance_of_log(ratio))) AS spread,
        any_value(sorted_ratios) AS sorted_ratios
    FROM asked
    JOIN each_repeat USING (session_id, run_id, attempt)
    GROUP BY session_id, suite, case_name, nodes, ranks_per_node, threads, message_factor
),
measured AS (
    SELECT
        * EXCLUDE (spread, sorted_ratios),
        false AS is_bound,
        CASE WHEN repeats > 1 THEN time_ratio / spread ELSE sorted_ratios[median_lo_rank(rounds)] END AS time_ratio_lo,
        CASE
            WHEN repeats > 1 THEN time_ratio * spread
            ELSE sorted_ratios[rounds + 1 - median_lo_rank(rounds)]
        END AS time_ratio_hi
    FROM over_repeats
),
-- From the next longer message. The interval's ends are brought into the possible range, not the repeats: there two
-- noisy ones would agree.
bounds AS (
    SELECT
        * REPLACE (
            0.5 AS message_factor,
            NULL AS step_ms,
            true AS is_bound,
            least_ratio_of_half(time_ratio, message_factor) AS time_ratio,
            least_ratio_of_half(time_ratio_hi, message_factor) AS time_ratio_lo,
            least_ratio_of_half(time_ratio_lo, message_factor) AS time_ratio_hi
        )
    FROM measured
    WHERE message_factor > 1
    QUALIFY
        row_number() OVER (
            PARTITION BY session_id, case_name, nodes, ranks_per_node, threads ORDER BY message_factor
        ) = 1
        AND (session_id, case_name, nodes, ranks_per_node, threads) NOT IN (
            SELECT (session_id, case_name, nodes, ranks_per_node, threads) FROM measured WHERE message_factor < 1
        )
),
all_rows AS (
    FROM measured
    UNION ALL BY NAME
    FROM bounds
),
final AS (
    SELECT
        session_id, suite, case_name, nodes, ranks_per_node, threads, workers, world_size, placement, strategy,
        device_type,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        message_factor,   -- bytes of each message ÷ those of the training's; 0: no messages
        -- bandwidth: of all links, as a multiple of the network's own; null without messages
        CASE WHEN message_factor > 0 THEN 1 / message_factor END AS bandwidth,
        is_bound,         -- not measured: the speed-up is at most this
        repeats,          -- ok repeats
        rounds,           -- of the repeat with fewest
        -- interval_over: repeats, or rounds if there is one repeat; it then leaves out the differences between runs
        CASE WHEN repeats > 1 THEN 'repeats' ELSE 'rounds' END AS interval_over,
        step_ms,          -- median over rounds, mean over repeats; null for a bound
        time_ratio,       -- time of a step ÷ that of a step with the training's messages
        time_ratio_lo,
        time_ratio_hi,
        1 / time_ratio AS speedup,  -- of a step on that network: 1 / time_ratio
        1 / time_ratio_hi AS speedup_lo,
        1 / time_ratio_lo AS speedup_hi
    FROM all_rows
)
SELECT * FROM final;
