-- title: Not decided
-- severity: warning
-- meaning: The repeats are too few or differ so much that the efficiency may be almost anything. These runs do not show
--   whether more workers pay off, nor what to change.
--
-- Fires if the interval of the efficiency spans more than two verdicts, and if two ok repeats or more give none: it
-- takes three rounds, and times that are not rounded to a few digits.
WITH open_ones AS (
    SELECT * FROM (
        SELECT
            *,
            coalesce(resolution > 0.5, false) AS is_coarse,
            coalesce(ln(efficiency_hi / efficiency_lo), CASE WHEN is_coarse THEN 99 ELSE 0 END) AS width,
            max(repeats_needed) OVER (PARTITION BY session_id) AS rounds_needed
        FROM scaling
        WHERE NOT oversubscribed
    ) AS all_sizes
    WHERE verdict = 'undecided'
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    width AS magnitude,
    CASE
        WHEN is_coarse THEN format('the times are rounded by up to {} of a run: too coarse for an interval',
            percent_text(resolution / 2))
        WHEN efficiency_lo IS NULL AND speedup_min IS NOT NULL THEN format(
            'in {} rounds the speedup was {} to {}: too few for an interval', repeats,
            number_text(speedup_min), number_text(speedup_max)
        )
        WHEN efficiency_lo IS NULL THEN format('{} repeats give no interval', repeats)
        ELSE format(
            'efficiency {}anything from {} to {} with {} repeats',
            CASE
                WHEN is_too_wide(efficiency_lo, efficiency_hi) THEN 'may be '
                ELSE format('is {}: ', efficiency_text(efficiency, efficiency_lo, efficiency_hi))
            END,
            verdict_lo, verdict_hi, repeats
        )
    END AS evidence,
    CASE
        WHEN is_coarse THEN 'Import times with more digits, or of longer runs: more rounds do not help.'
        WHEN repeats_needed IS NOT NULL AND (efficiency_lo IS NULL OR rounds_needed = 3 AND rounds IS NULL)
            THEN format('Take {} more rounds, then ask again.', rounds_needed)
        WHEN repeats_needed IS NOT NULL
            THEN format('Take {} more rounds; in 7 to 9 sessions of 10 they are enough.', rounds_needed)
        WHEN efficiency_lo IS NULL THEN 'Report no verdict.'
        ELSE '20 more rounds would not decide it reliably, so report the interval.'
    END || CASE
        WHEN log_variance > 0.05 ** 2
            THEN format(' Runs vary by {}: measure on a quiet machine.', percent_text(sqrt(log_variance)))
        ELSE ''
    END AS advice,
    CASE WHEN repeats_needed IS NOT NULL AND NOT is_coarse THEN format('--repeats {}', repeats + rounds_needed) END AS options
FROM open_ones
JOIN (SELECT session_id, case_name, nodes, ranks_per_node, threads, log_variance FROM placements) AS variances
    USING (session_id, case_name, nodes, ranks_per_node, threads)
