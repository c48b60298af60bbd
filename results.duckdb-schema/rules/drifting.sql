-- title: Step times drift
-- severity: notice
-- meaning: The measured steps had not settled: their first half takes a different time than the second half. The
--   result depends on the number of measured steps, and a longer training would have a different one.
--
-- Fires if the mean step times of the two halves of a run's measured steps differ by more than 2 %, with the whole
-- interval over ok repeats above that (Student's t on the logarithm of the ratio). One repeat has no interval: the
-- finding is then likely, from 20 steps on, if the difference is above 5 % and above 4 standard errors of the steps.
WITH halves AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        ln(step_ns_mean_first_half / step_ns_mean_second_half) AS drift,
        run_stats.measured_steps,
        step_ns_std / step_ns_mean * 2 / sqrt(run_stats.measured_steps) AS drift_error
    FROM run_summary
    JOIN run_stats USING (session_id, run_id, attempt)
    WHERE status = 'ok' AND NOT oversubscribed AND step_ns_mean_first_half > 0 AND step_ns_mean_second_half > 0
),
over_repeats AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        count(*) AS repeats,
        avg(drift) AS drift,
        var_samp(drift) AS variance,
        min(measured_steps) AS steps,
        max(drift_error) AS drift_error
    FROM halves
    GROUP BY ALL
),
with_half_width AS (
    SELECT
        *,
        mean_half_width(repeats, variance) AS half
    FROM over_repeats
),
of_settings AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        max(try_cast(config->'measure'->>'warmup' AS BIGINT)) AS warmup
    FROM runs
    GROUP BY ALL
),
judged AS (
    SELECT
        *,
        drift > 0 AS starts_slow,
        abs(drift) AS size,
        if(
            half IS NULL,
            steps >= 20 AND size > 0.05 AND size > 4 * drift_error,
            size - half > 0.02
        ) AS drifts
    FROM with_half_width
    LEFT JOIN of_settings USING (session_id, case_name, nodes, ranks_per_node, threads)
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(half IS NULL, 'likely', 'shown') AS certainty,
    size AS magnitude,
    format(
        'the {} half of the measured steps takes {} longer than the {}, over {} {} of {} steps',
        if(starts_slow, 'first', 'second'), share_text(exp(size) - 1, exp(size - half) - 1, exp(size + half) - 1),
        if(starts_slow, 'second', 'first'), repeats, if(repeats = 1, 'repeat', 'repeats'), steps
    ) AS evidence,
    if(
        starts_slow,
        'Warm up for longer, so that caches, clocks and buffers settle before the first measured step'
        || coalesce(format(': {} steps would leave out the first half of these.', warmup + steps // 2), '.'),
        'Check clocks, temperatures, growing memory and other work that started on the machine meanwhile; then measure '
        'for longer, until step times are stable.'
    ) AS advice,
    CASE WHEN starts_slow THEN format('--set measure.warmup={}', warmup + steps // 2) END AS options
FROM judged
WHERE drifts
