-- One row per case and placement with an ok repeat of training: time of an epoch, as the data set's examples /
-- throughput, with the throughput's 95 % interval; and wall time of a whole run, mean over ok repeats that are
-- not slow, with the fastest and the slowest of them.
WITH wall AS (
    SELECT
        case_name, nodes, ranks_per_node, threads,
        avg(elapsed_s) AS run_s,
        CASE WHEN count(*) > 1 THEN min(elapsed_s) END AS run_s_lo,
        CASE WHEN count(*) > 1 THEN max(elapsed_s) END AS run_s_hi
    FROM run_summary
    ANTI JOIN slow_runs USING (session_id, run_id, attempt)
    WHERE session_id = $session_id AND status = 'ok' AND strategy <> 'process_group'  -- those have no epochs
    GROUP BY case_name, nodes, ranks_per_node, threads
),
final AS (
    SELECT
        case_name,
        scaling_mode,
        axis,
        workers,
        placement,
        locality,
        oversubscribed,
        repeats,
        time_per_epoch_s AS epoch_s,
        time_per_epoch_s * throughput / throughput_hi AS epoch_s_lo,
        time_per_epoch_s * throughput / throughput_lo AS epoch_s_hi,
        run_s, run_s_lo, run_s_hi,
        nodes, threads
    FROM scaling
    JOIN wall USING (case_name, nodes, ranks_per_node, threads)
    WHERE session_id = $session_id AND throughput IS NOT NULL AND coalesce(time_per_epoch_s, run_s) IS NOT NULL
)
SELECT * EXCLUDE (nodes, threads) FROM final ORDER BY case_name, workers, nodes, threads;
