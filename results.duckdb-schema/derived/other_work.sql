-- One row per session with readings of it: how much of the ranks' CPUs processes other than the ranks used, in its ok
-- runs. A run on several nodes counts with its busiest node. Shares are rounded, because the order of a mean's sum is
-- not fixed between loads.
WITH busiest AS (
    SELECT session_id, run_id, attempt, round(max(other_cpu_share), 12) AS share
    FROM run_device_stats
    WHERE device IS NULL
    GROUP BY session_id, run_id, attempt
),
final AS (
    SELECT
        session_id,
        round(avg(share), 12) AS other_cpu_share,  -- mean over the ok runs, between 0 and 1
        max(share) AS other_cpu_share_largest,     -- of one run
        arg_min(run_id, (-share, run_id)) AS busiest_run_id,  -- that run; of several, the first by name
        -- is_busy: whether the mean is 10 % or more, so that times and their ratios may come from the other work
        other_cpu_share >= 0.1 AS is_busy
    FROM busiest
    JOIN (SELECT session_id, run_id, attempt FROM run_summary WHERE status = 'ok') AS ok_runs
        USING (session_id, run_id, attempt)
    WHERE share IS NOT NULL
    GROUP BY session_id
)
SELECT * FROM final;
