-- One row per session, case and placement with an ok run: the median of its repeats, by which history judges it.
WITH final AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        median(ln(throughput)) AS median_log,  -- median over the ok repeats of ln(throughput)
        -- median_log_variance: of that median, as repeats show it: pi / 2 times that of a mean; and of the rounding of
        -- a file's times, which is the same in all; null for a single one
        variance_of_log(throughput) * pi() / 2 / count(throughput) + coalesce(avg(resolution ** 2), 0) / 12
            AS median_log_variance,
        count(slowdown) AS odd_runs  -- number of these repeats in the table odd_runs
    FROM run_summary
    LEFT JOIN (FROM odd_runs SELECT session_id, run_id, attempt, slowdown) AS odd USING (session_id, run_id, attempt)
    WHERE throughput > 0
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
)
SELECT * FROM final;
