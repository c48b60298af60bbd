-- title: The machine was busy with other work
-- severity: warning
-- meaning: While the ranks ran, other processes used their CPUs. Every time of this session includes waiting for them,
--   some runs more than others: an efficiency may be too low, or above 100 % because the baseline waited most.
--
-- Fires if other processes used 10 % or more of the ranks' CPUs, in the mean over the ok runs. A run on several nodes
-- counts with its busiest node. The share comes from the samples; sessions without it have no such finding.
WITH busiest AS (
    SELECT session_id, run_id, attempt, max(other_cpu_share) AS share
    FROM run_device_stats
    WHERE device IS NULL
    GROUP BY session_id, run_id, attempt
),
over_runs AS (
    SELECT
        session_id,
        avg(share) AS share,
        max(share) AS largest,
        arg_max(run_id, share) AS busiest_run
    FROM busiest
    JOIN (SELECT session_id, run_id, attempt FROM run_summary WHERE status = 'ok') AS ok_runs
        USING (session_id, run_id, attempt)
    GROUP BY session_id
)
SELECT
    session_id,
    'shown' AS certainty,
    share AS magnitude,
    format(
        'other processes used {} of the ranks'' CPUs, and {} in {}', percent_text(share), percent_text(largest),
        busiest_run
    ) AS evidence,
    'Stop other work on the machine, or request an exclusive node; then measure again.' AS advice
FROM over_runs
WHERE share >= 0.1
