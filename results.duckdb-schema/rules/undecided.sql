-- title: Not decided
-- severity: warning
-- meaning: The repeats lie so far apart that the efficiency may be almost anything: whether more workers pay, and what
--   to change, cannot be told from these runs. What else is found at this size is likely, and no more.
--
-- Fires where the interval of the efficiency spans more than two verdicts. The repeats advised are as many as bring it
-- under one, but not more than three times those there are: what takes more, a quieter machine does.
WITH open_ones AS (
    SELECT
        *,
        ln(efficiency_hi / efficiency_lo) AS width,
        least(coalesce(repeats_needed, 2 * repeats), 2 * repeats) AS more
    FROM scaling
    WHERE NOT oversubscribed AND is_open(verdict_lo, verdict_hi)
),
variations AS (
    SELECT session_id, case_name, nodes, ranks_per_node, threads, sqrt(log_variance) AS variation FROM placements
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    width AS magnitude,
    format(
        'efficiency is {:.0f} % [{:.0f}, {:.0f}]: anything from {} to {}; the throughputs of {} repeats vary by {}{}',
        100 * efficiency, 100 * efficiency_lo, 100 * efficiency_hi, verdict_lo, verdict_hi, repeats,
        percent_text(here.variation),
        coalesce(format(', those of the baseline by {}', percent_text(there.variation)), '')
    ) AS evidence,
    format(
        'Measure where nothing else runs: stop other work on this machine, or ask for a node of your own. Then take '
        'about {} more repeats{}.', more,
        if(coalesce(repeats_needed, 1001) > more, '; as the machine is now, not even these would do', '')
    ) AS advice,
    format('--repeats {}', repeats + more) AS knob
FROM open_ones
JOIN variations AS here USING (session_id, case_name, nodes, ranks_per_node, threads)
LEFT JOIN variations AS there
    ON there.session_id = open_ones.session_id AND there.case_name = baseline_case AND there.nodes = baseline_nodes
    AND there.ranks_per_node = baseline_ranks_per_node AND there.threads = baseline_threads
