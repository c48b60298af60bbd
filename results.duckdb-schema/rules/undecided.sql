-- title: Not decided
-- severity: warning
-- meaning: The repeats differ so much that the efficiency may be almost anything. These runs do not show whether more
--   workers pay off, nor what to change. Other findings at this size are likely at most.
--
-- Fires if the interval of the efficiency spans more than two verdicts. The advised repeats bring it under one verdict,
-- unless that takes more than three times the current number: then only a quieter machine helps.
WITH open_ones AS (
    SELECT
        *,
        ln(efficiency_hi / efficiency_lo) AS width,
        least(coalesce(repeats_needed, 2 * repeats), 2 * repeats) AS more
    FROM scaling
    WHERE NOT oversubscribed AND is_open(verdict_lo, verdict_hi)
),
variations AS (
    SELECT session_id, case_name, nodes, ranks_per_node, threads, sqrt(log_variance) AS variation, logs FROM placements
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    width AS magnitude,
    format(
        'efficiency {}anything from {} to {}; {}',
        if(
            is_too_wide(efficiency_lo, efficiency_hi),
            'may be ',
            format('is {}: ', share_text(efficiency, efficiency_lo, efficiency_hi))
        ),
        verdict_lo, verdict_hi,
        CASE
            WHEN rounds IS NOT NULL THEN format(
                'within {} rounds it varies by {}', rounds,
                percent_text(sqrt(variance_of(differences_within(here.logs, there.logs))))
            )
            ELSE format(
                'the throughputs of {} repeats vary by {}{}', repeats, percent_text(here.variation),
                coalesce(format(', those of the baseline by {}', percent_text(there.variation)), '')
            )
        END
    ) AS evidence,
    'Measure on a quiet machine: stop other work on it, or request an exclusive node; then take more repeats'
    || if(coalesce(repeats_needed > more, true), ' (on the machine as it is, they hardly help).', '.') AS advice,
    format('--repeats {}', repeats + slow_repeats + more) AS options
FROM open_ones
JOIN variations AS here USING (session_id, case_name, nodes, ranks_per_node, threads)
LEFT JOIN variations AS there
    ON there.session_id = open_ones.session_id AND there.case_name = baseline_case AND there.nodes = baseline_nodes
    AND there.ranks_per_node = baseline_ranks_per_node AND there.threads = baseline_threads
