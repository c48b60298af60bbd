-- One row per session, case and placement with an ok run: what a run costs, and how much its time varies between the
-- steps of a run, between the runs of a round, and between rounds. Deviations are standard deviations of ln(time). A
-- run is compared with the runs of the same round at the case's other placements. A case of one placement is compared
-- with the session's other such cases, if the session has up to 50 placements. The difference of two runs has the
-- variance of both, so each placement's own follows from the differences between all of them (Grubbs, exact if no run
-- is missing); with two placements, each has half. Null below two rounds or two placements. Slow runs (`slow_runs`) do
-- not count.
WITH ok_runs AS (
    SELECT
        session_id, run_id, case_name, point_id, round,
        run_summary.measured_steps AS steps,
        -ln(throughput) AS log_time,
        cv, autocorrelation_steps, span_s, elapsed_s
    FROM run_summary
    ANTI JOIN slow_runs USING (session_id, run_id, attempt)
    LEFT JOIN run_stats USING (session_id, run_id, attempt)
    WHERE throughput IS NOT NULL
),
-- From the end of a run to the start of the next; the median, because a resumed session has long pauses.
pauses AS (
    SELECT session_id, median(CASE WHEN pause_s > 0 THEN pause_s WHEN pause_s <= 0 THEN 0 END) AS pause_s
    FROM (
        SELECT
            session_id,
            epoch(lead(started_at) OVER (PARTITION BY session_id ORDER BY started_at) - started_at) - elapsed_s
                AS pause_s
        FROM run_summary
    ) AS successive_runs
    GROUP BY session_id
),
over_runs AS (
    SELECT
        session_id, case_name, point_id,
        count(*) AS runs,
        avg(steps) AS steps,
        avg(elapsed_s - span_s) + coalesce(any_value(pause_s), 0) AS start_s,
        sum(span_s) / sum(steps) AS step_s,
        sqrt(avg(cv ** 2)) AS step_sd,
        median(autocorrelation_steps) AS autocorrelation_steps,
        variance_of(list(log_time)) AS log_variance
    FROM ok_runs
    LEFT JOIN pauses USING (session_id)
    GROUP BY session_id, case_name, point_id
),
sizes AS (
    SELECT
        *,
        step_sd * sqrt(autocorrelation_steps / steps) AS steps_sd,
        -- placements that are compared with each other; pairs of hundreds of cases are too many
        CASE
            WHEN count(*) OVER (PARTITION BY session_id, case_name) > 1 THEN case_name
            WHEN count(*) OVER (PARTITION BY session_id) <= 50 THEN ''
        END AS family
    FROM over_runs
),
in_rounds AS (
    SELECT session_id, family, point_id, round, log_time
    FROM ok_runs
    JOIN sizes USING (session_id, point_id)
    WHERE round IS NOT NULL
),
-- Each pair of placements is here twice.
pairs AS (
    SELECT
        session_id, family,
        one.point_id AS point_id,
        count(*) AS rounds,
        variance_of(list(one.log_time - other.log_time)) AS difference_variance,
        covar_samp(one.log_time, other.log_time) AS covariance
    FROM in_rounds AS one
    JOIN in_rounds AS other USING (session_id, family, round)
    WHERE one.point_id <> other.point_id
    GROUP BY session_id, family, one.point_id, other.point_id
    HAVING count(*) > 1
),
families AS (
    SELECT
        session_id, family,
        count(DISTINCT point_id) AS placements,
        min(rounds) AS rounds,
        sum(difference_variance) / 2 / (placements - 1) / placements AS mean_run_variance,
        sqrt(greatest(avg(covariance), 0)) AS round_sd
    FROM pairs
    GROUP BY session_id, family
),
differences AS (
    SELECT session_id, family, point_id, sum(difference_variance) AS difference_variances
    FROM pairs
    GROUP BY session_id, family, point_id
),
own AS (
    SELECT
        *,
        -- of its residuals in a two-way analysis of variance
        (difference_variances - (placements - 1) * mean_run_variance) / placements AS rest_variance,
        CASE
            WHEN placements = 2 THEN mean_run_variance
            ELSE greatest((difference_variances - placements * mean_run_variance) / (placements - 2), 0)
        END AS run_variance
    FROM differences
    JOIN families USING (session_id, family)
),
-- Bartlett's test of equal variances. Its statistic is chi-squared: an F with infinite degrees of freedom.
bartlett AS (
    SELECT
        session_id, family,
        any_value(rounds) - 1 AS df,
        any_value(placements) AS groups,
        df * (groups * ln(avg(rest_variance)) - sum(ln(rest_variance)))
            / (1 + (groups / df - 1 / (groups * df)) / (3 * (groups - 1))) AS statistic
    FROM own
    WHERE rounds >= 5 AND placements >= 4
    GROUP BY session_id, family
    HAVING min(rest_variance) > 0
),
tested AS (
    SELECT session_id, family, f_tail(statistic / (groups - 1), groups - 1, 1e6) AS p_equal FROM bartlett
),
compared AS (
    SELECT
        session_id, point_id,
        point_id_of(session_id, baseline_case, baseline_nodes, baseline_ranks_per_node, baseline_threads) AS baseline_id
    FROM scaling
    WHERE NOT is_baseline AND baseline_case IS NOT NULL
),
ratios AS (
    SELECT
        session_id, point_id,
        count(*) AS ratio_rounds,
        variance_of(list(here.log_time - there.log_time)) AS ratio_variance
    FROM compared
    JOIN ok_runs AS here USING (session_id, point_id)
    JOIN ok_runs AS there
        ON there.session_id = compared.session_id AND there.point_id = baseline_id AND there.round = here.round
    GROUP BY session_id, point_id
),
final AS (
    SELECT
        session_id, case_name, workers, nodes, ranks_per_node, threads, placement, point_id, is_baseline,
        runs,     -- number of ok runs that are not slow
        steps,    -- mean number of measured steps of a run
        start_s,  -- of a run, without its measured steps: set-up, warm-up, end, and the pause before the next run; mean
        step_s,   -- mean of the measured steps
        step_sd,  -- standard deviation of a step ÷ its mean, within runs; mean of squares over runs
        autocorrelation_steps,  -- successive steps that count as one independent step; median over runs
        steps_sd,  -- part of the steps in the deviation of a run: step_sd × √(autocorrelation_steps ÷ steps)
        -- run_sd: standard deviation between runs of a round, without the part of the steps
        CASE WHEN run_variance >= 0 AND steps_sd >= 0 THEN sqrt(greatest(run_variance - steps_sd ** 2, 0)) END
            AS run_sd,
        -- run_sd_pooled: over all placements compared, if p_equal is 0.25 or more; otherwise the largest of the case
        CASE WHEN run_variance >= 0 AND steps_sd >= 0 THEN
            CASE
                WHEN p_equal >= 0.25 THEN sqrt(greatest(mean_run_variance - avg(steps_sd ** 2) OVER of_family, 0))
                ELSE sqrt(greatest(max(run_variance - steps_sd ** 2) OVER (PARTITION BY session_id, case_name), 0))
            END
        END AS run_sd_pooled,
        round_sd,    -- standard deviation between rounds, common to all placements compared
        placements,  -- number of placements compared
        rounds,      -- number of rounds in which any two of them are compared, at least
        -- p_equal: Bartlett's test that all placements compared vary alike; null below five rounds or four placements
        p_equal,
        log_variance,    -- sample variance of ln(throughput) over runs; null below two
        baseline_id,     -- point_id of its baseline; null at a baseline
        ratio_rounds,    -- number of rounds with an ok run here and of the baseline
        ratio_variance   -- sample variance over these rounds of ln(throughput ÷ the baseline's); null below two
    FROM sizes
    JOIN (
        SELECT session_id, point_id, workers, nodes, ranks_per_node, threads, placement, is_baseline FROM scaling
    ) AS placed USING (session_id, point_id)
    LEFT JOIN own USING (session_id, family, point_id)
    LEFT JOIN tested USING (session_id, family)
    LEFT JOIN compared USING (session_id, point_id)
    LEFT JOIN ratios USING (session_id, point_id)
    WINDOW of_family AS (PARTITION BY session_id, family)
)
SELECT * FROM final;
