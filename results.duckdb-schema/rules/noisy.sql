-- title: Times vary widely
-- severity: notice
-- meaning: Something other than the training takes time now and then (other work on the machine, the network, Python's
--   garbage collection), or the steps differ by themselves. Results are right within their intervals, but these are
--   wide and hide small differences.
--
-- Fires if the steps of a run vary by more than 5 % (standard deviation ÷ mean). The whole interval of the mean over
-- ok repeats must be above that; for a single repeat, the point must be, from 20 steps on. It also fires if the
-- throughputs of ok repeats vary by more than 5 %: likely from two repeats on, shown from three. If rounds differ
-- (`drifting_machine`), only the variation within rounds counts, because ratios within rounds are free of the rest and
-- more repeats do not narrow it. 5 % is a convention: a quiet machine stays below 2 %, and two of its repeats would
-- differ by this much once in eighty times.
WITH of_steps AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        avg(cv) AS mean_cv,
        count(cv) AS repeats,
        var_samp(cv) AS variance,
        min(measured_steps) AS steps
    FROM run_summary
    WHERE status = 'ok' AND NOT oversubscribed AND isfinite(cv)
    GROUP BY ALL
),
with_t AS (
    SELECT *, mean_half_width(repeats, variance) AS half FROM of_steps
),
within_rounds AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        -- each size is part of its rounds' means
        var_samp(ln(throughput / round_ratio)) * any_value(sizes / (sizes - 1)) AS variance_within
    FROM run_summary
    JOIN rounds USING (session_id, round)
    WHERE p_rounds < 0.01 AND throughput IS NOT NULL
    GROUP BY ALL
),
of_settings AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        any_value(try_cast(config->'measure'->>'steps' AS BIGINT)) AS steps_set
    FROM runs
    GROUP BY ALL
),
judged AS (
    SELECT
        *,
        coalesce(if(half IS NULL, mean_cv > 0.05 AND steps >= 20, mean_cv - half > 0.05), false) AS steps_vary,
        coalesce(least(log_variance, variance_within) > 0.05 ** 2, false) AS repeats_vary,
        mean_cv - half AS cv_lo,
        mean_cv + half AS cv_hi
    FROM with_t
    JOIN placements USING (session_id, case_name, nodes, ranks_per_node, threads)
    JOIN of_settings USING (session_id, case_name, nodes, ranks_per_node, threads)
    LEFT JOIN within_rounds USING (session_id, case_name, nodes, ranks_per_node, threads)
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(steps_vary AND half IS NOT NULL OR repeats_vary AND judged.repeats > 2, 'shown', 'likely') AS certainty,
    greatest(if(steps_vary, mean_cv, 0), if(repeats_vary, sqrt(log_variance), 0)) AS magnitude,
    concat_ws(
        '; ',
        if(
            steps_vary,
            format('single steps vary by {} of their mean', share_text(mean_cv, cv_lo, cv_hi)),
            NULL
        ),
        if(
            repeats_vary,
            format('the throughputs of {} repeats vary by {}', judged.repeats, percent_text(sqrt(log_variance))),
            NULL
        )
    ) AS evidence,
    'Stop other work on the machine or request an exclusive node, and '
    || if(
        repeats_vary,
        'ask again then: more steps do not make the repeats agree.',
        'measure more steps, four times as many for half the variation; if a few steps are much longer than all '
        'others, check whether measure.garbage_collection=frozen removes them; if the steps differ by themselves, as '
        'at the start of an epoch, or in a GAN that trains its generator in every fifth step, measure whole cycles.'
    ) AS advice,
    CASE
        WHEN NOT repeats_vary AND steps_set IS NOT NULL THEN format('--set measure.steps={}', 4 * steps_set)
    END AS options
FROM judged
WHERE steps_vary OR repeats_vary
