-- title: No phase explains some long steps
-- severity: warning
-- meaning: Some measured steps took more than five times as long as usual, in time that belongs to no phase. The script may
--   have sampled, validated or logged there, or waited for a loader that is not torch's, or for a busy machine. bench
--   cannot know whether that is training. It counts this time in throughput; if it is more than a tenth, there is no speedup.
--
-- Fires if `run_pauses` has unexplained pauses of at least 1 % of the time of the ok runs. The steps named are those of one
-- run.
WITH of_runs AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, run_id,
        any_value(run_summary.pauses) AS said,
        any_value(unexplained_share) AS share,
        list(after_step ORDER BY after_step) AS steps,
        max(pause_s) AS longest_s
    FROM run_pauses
    JOIN run_summary USING (session_id, run_id, attempt)
    WHERE kind = 'unexplained' AND status = 'ok' AND unexplained_share >= 0.01
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads, run_id
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'shown' AS certainty,
    max(share) AS magnitude,
    format(
        'pauses of an unknown kind take {} of the time of {}; the longest lasts {} s; they follow steps {}{}',
        percent_text(max(share)), arg_max(run_id, share), number_text(arg_max(longest_s, share)),
        array_to_string(arg_max(steps, share)[:5], ', '), if(len(arg_max(steps, share)) > 5, ' and others', '')
    ) AS evidence,
    CASE any_value(said)
        WHEN 'count' THEN 'Nothing is left out, as --pauses count asks.'
        WHEN 'leave-out' THEN 'They are left out, as --pauses leave-out asks.'
        ELSE 'The script did something else, or waited for a loader that is not torch''s: mark that with '
            || 'bench_probe.phase("data"). On a busy machine, measure again. Or give --pauses count if it is training, --pauses leave-out if it is not, '
            || 'also afterwards, with --resume.'
    END AS advice
FROM of_runs
GROUP BY session_id, case_name, nodes, ranks_per_node, threads
