-- One row per suite, case and placement that two or more sessions with equal fingerprints measured, each with two or
-- more ok runs: by how much the session changes the time of its runs.
CREATE OR REPLACE VIEW session_components AS
WITH final AS (
    SELECT
        suite, case_name, workers, nodes, ranks_per_node, threads, placement,
        fingerprints_digest,  -- as in history_points
        count(*) AS sessions,  -- number of sessions
        -- session_sd: standard deviation of ln(time) between sessions, without the part of their rounds, runs and steps
        sqrt(greatest(var_samp(ln(throughput)) - avg(log_variance / repeats), 0)) AS session_sd
    FROM history_points
    WHERE repeats > 1 AND fingerprints_digest IS NOT NULL
    GROUP BY suite, case_name, workers, nodes, ranks_per_node, threads, placement, fingerprints_digest
    HAVING count(*) > 1
)
SELECT * FROM final;
