-- title: The repeats leave the answer open
-- severity: notice
-- meaning: The interval reaches from one verdict into the next, or is wider than the suite requests. The point is the
--   best guess, but not a decision.
--
-- Fires if the interval of the efficiency reaches into two verdicts, or is wider than measure.until_efficiency, or if
-- that of throughput is wider than measure.until. More than two verdicts are `undecided`. The number of rounds is
-- repeats_needed of `scaling`, the largest of the session. For each case, the rule reports the size that needs the most.
WITH wanted AS (
    SELECT
        *,
        max(repeats_needed) OVER (PARTITION BY session_id) AS rounds_needed,
        coalesce(verdict_lo <> verdict_hi AND NOT is_open(verdict_lo, verdict_hi), false) AS is_between,
        coalesce(throughput_hi > throughput * (1 + until), false) AS is_wide,
        coalesce(speedup_hi > speedup * (1 + until_efficiency) AND NOT is_baseline, false) AS is_ratio_wide
    FROM scaling
    WHERE NOT oversubscribed
),
worst AS (
    SELECT * FROM wanted
    WHERE (is_between OR is_wide OR is_ratio_wide) AND verdict IS DISTINCT FROM 'undecided'
    QUALIFY row_number() OVER (
        PARTITION BY session_id, case_name ORDER BY coalesce(repeats_needed, 21) DESC, workers DESC, nodes
    ) = 1
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    coalesce(repeats_needed, 21) AS magnitude,
    CASE
        WHEN is_between THEN format(
            'efficiency is {} with {} repeats: {} or {}',
            CASE
                WHEN is_too_wide(efficiency_lo, efficiency_hi) THEN efficiency_percent(efficiency)
                ELSE efficiency_text(efficiency, efficiency_lo, efficiency_hi)
            END,
            repeats, verdict_lo, verdict_hi
        )
        WHEN is_wide THEN format(
            'throughput is {} {}{} with {} repeats, but the suite requests ±{}',
            number_text(throughput), throughput_unit,
            CASE
                WHEN is_too_wide(throughput_lo, throughput_hi) THEN ', too noisy for an interval,'
                ELSE format(' [{}, {}]', number_text(throughput_lo), number_text(throughput_hi))
            END,
            repeats, percent_text(until)
        )
        ELSE format(
            'efficiency is known to within ±{} with {} repeats, but the suite requests ±{}',
            percent_text(speedup_hi / speedup - 1), repeats, percent_text(until_efficiency)
        )
    END AS evidence,
    CASE
        -- below three rounds the number is a first step
        WHEN rounds_needed = 3 AND rounds IS NULL THEN 'Take 3 more rounds, then ask again.'
        WHEN repeats_needed IS NOT NULL THEN format(
            'Take {} more rounds; in 7 to 9 sessions of 10 they are enough. Until then, report the interval.',
            rounds_needed
        )
        WHEN is_between THEN format(
            'The efficiency is on the border of {} and {}: report both. 20 more rounds would not decide it reliably.',
            verdict_lo, verdict_hi
        )
        ELSE '20 more rounds would not make it as narrow as the suite requests, so report the interval.'
    END || CASE
        WHEN log_variance > 0.05 ** 2
            THEN format(' Runs vary by {}: measure on a quiet machine.', percent_text(sqrt(log_variance)))
        ELSE ''
    END AS advice,
    CASE WHEN repeats_needed IS NOT NULL THEN format('--repeats {}', repeats + rounds_needed) END AS options
FROM worst
JOIN (SELECT session_id, case_name, nodes, ranks_per_node, threads, log_variance FROM placements) AS variances
    USING (session_id, case_name, nodes, ranks_per_node, threads)
