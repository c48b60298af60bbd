-- One row per case and placement of a session, newest first, that is slower than in an earlier session of its
-- experiment, by more than 2 % and beyond noise, with no regression in between: small losses added up, or a larger one
-- was not certain at once, as after a single repeat. The earlier session, the reference, is the latest of these: the
-- first session of the experiment, its last regression, the session after its last improvement, which may itself have
-- been fast by chance. Oversubscribed sessions do not count. Noise is that of repeats on both sides, and that of
-- sessions: the ratios of successive sessions since the reference, at least four, show how much these usually differ,
-- with or without a change of code between them.
CREATE OR REPLACE VIEW gradual_regressions AS
WITH points AS (
    SELECT
        history.* EXCLUDE (ratio, ratio_lo, ratio_hi, usual_hi, holm_p),
        ratio AS step_ratio,
        log_variance, stops_early,
        lag(improvement, 1, true) OVER so_far AS follows_improvement  -- or is the first
    FROM history
    JOIN (
        SELECT session_id, case_name, nodes, ranks_per_node, threads, log_variance, stops_early FROM history_points
    ) AS moments USING (session_id, case_name, nodes, ranks_per_node, threads)
    WHERE repeats > 0 AND NOT history.oversubscribed
    WINDOW so_far AS (PARTITION BY suite, line, experiment ORDER BY session_order)
),
with_reference AS (
    SELECT
        *,
        max(session_order) FILTER (regression OR improvement OR follows_improvement)
            OVER (PARTITION BY suite, line, experiment ORDER BY session_order) AS reference_order
    FROM points
),
since_reference AS (
    SELECT
        *,
        count(*) FILTER (session_order > reference_order) OVER so_far AS steps,
        avg(ln(step_ratio) ** 2) FILTER (session_order > reference_order) OVER so_far AS mean_square
    FROM with_reference
    WINDOW so_far AS (PARTITION BY suite, line, experiment, reference_order ORDER BY session_order)
),
compared AS (
    SELECT
        points.*,
        start.session_id AS reference_session_id,
        start.throughput AS reference_throughput,
        ln(points.throughput / start.throughput) AS log_ratio,
        0.02 AS margin,  -- as in history
        log_ratio - ln(1 - margin) AS above_limit,  -- below 0 it is slower by more
        sqrt(points.log_variance / points.repeats + start.log_variance / start.repeats) AS se,
        welch_df(
            points.log_variance / points.repeats, points.repeats, start.log_variance / start.repeats, start.repeats
        ) AS df,
        points.stops_early OR start.stops_early AS is_stopped_early,
        sqrt(mean_square) AS usual_se,
        -- as in history: successive ratios share a session
        2 * steps ** 2 / (3 * steps - 1) AS usual_df
    FROM since_reference AS points
    JOIN points AS start
        ON start.suite = points.suite AND start.line = points.line AND start.experiment = points.experiment
        AND start.session_order = points.reference_order
    WHERE steps >= 4
),
with_p AS (
    SELECT
        *,
        t_quantile_for(df, is_stopped_early) * se AS half_width,
        t_quantile(usual_df) * usual_se AS usual_half_width,
        greatest(p_not_below(above_limit, se, df), p_not_below(above_limit, usual_se, usual_df)) AS p
    FROM compared
),
with_steps AS (
    SELECT *, holm_step(p, session_id) AS step FROM with_p
),
with_holm AS (
    SELECT *, holm_p_of(p, step, session_id) AS corrected_p FROM with_steps
),
final AS (
    SELECT
        suite, case_name, workload, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        point_id, placement, device_type, device_name,
        line,                          -- as in history
        experiment,                    -- as in history
        session_id,
        created_at,                    -- of the session, UTC
        session_order,                 -- 1-based number among all sessions of the suite, by created_at
        reference_session_id,          -- session that it is compared with
        reference_order,               -- its session_order
        steps AS sessions_since,       -- number of sessions of the experiment since then, this one included
        throughput, throughput_unit,
        reference_throughput,          -- of that session: geometric mean over its ok repeats that are not slow
        exp(log_ratio) AS ratio,       -- throughput ÷ that of the reference
        exp(log_ratio - half_width) AS ratio_lo,
        exp(log_ratio + half_width) AS ratio_hi,
        exp(usual_half_width) AS usual_hi,  -- upper end of the ratios that are usual between two of these sessions
        corrected_p AS holm_p  -- one-sided, that the ratio is not below 1 - 2 %; Holm's correction over the session
    FROM with_holm
    WHERE ratio_hi < 1 - margin AND ratio * usual_hi < 1 - margin AND corrected_p <= 0.05
)
SELECT * FROM final ORDER BY created_at DESC, session_id, ratio;
