-- One row per session and round of repeats: by how much all sizes were faster or slower in it. Cases and placements
-- count if they are not oversubscribed and have enough ok runs, the number that keeps the most runs. Rounds count if
-- all of these are ok in them; there must be two or more. The logarithm of throughput is split into size, round and a
-- rest (two-way analysis of variance). `p_rounds` and `p_position` are the same in all rows of a session.
WITH ok_runs AS (
    SELECT
        session_id, round, position, started_at,
        concat_ws(' ', case_name, nodes, ranks_per_node, threads) AS size,
        ln(throughput) AS log
    FROM run_summary
    WHERE throughput IS NOT NULL AND round IS NOT NULL AND NOT oversubscribed
),
of_sizes AS (
    SELECT session_id, size, count(*) AS runs FROM ok_runs GROUP BY session_id, size
),
with_others AS (
    SELECT *, count(*) OVER (PARTITION BY session_id ORDER BY runs DESC) AS sizes FROM of_sizes
),
thresholds AS (
    SELECT session_id, runs AS least_runs, sizes FROM with_others
    WHERE runs > 1 AND sizes > 1
    QUALIFY row_number() OVER (PARTITION BY session_id ORDER BY runs * sizes DESC, runs DESC) = 1
),
of_full_sizes AS (
    SELECT ok_runs.*, thresholds.sizes, count(*) OVER (PARTITION BY session_id, round) AS sizes_of_round
    FROM ok_runs
    JOIN of_sizes USING (session_id, size)
    JOIN thresholds USING (session_id)
    WHERE runs >= least_runs
),
of_full_rounds AS (
    SELECT * FROM of_full_sizes WHERE sizes_of_round = sizes
),
centred AS (
    SELECT
        *,
        avg(log) OVER of_round - avg(log) OVER of_session AS round_effect,
        log - avg(log) OVER of_round - avg(log) OVER of_size + avg(log) OVER of_session AS rest,
        CASE WHEN count(position) OVER of_session = count(*) OVER of_session THEN
            position - avg(position) OVER of_round - avg(position) OVER of_size + avg(position) OVER of_session
        END AS position_rest
    FROM of_full_rounds
    WINDOW
        of_session AS (PARTITION BY session_id),
        of_round AS (PARTITION BY session_id, round),
        of_size AS (PARTITION BY session_id, size)
),
over_sessions AS (
    SELECT
        session_id,
        any_value(sizes) AS sizes,
        count(DISTINCT round) AS rounds,
        max(position) AS last_position,
        sum(round_effect ** 2) AS squares_of_rounds,
        -- rounded: the rest of exact sums is not a variance
        round(sum(rest ** 2), 18) AS squares_of_rest,
        sum(position_rest ** 2) AS squares_of_positions,
        sum(position_rest * rest) / nullif(round(squares_of_positions, 9), 0) AS slope
    FROM centred
    GROUP BY session_id
    HAVING rounds > 1
),
with_df AS (
    SELECT *, (rounds - 1) * (sizes - 1) AS rest_df FROM over_sessions
),
tested AS (
    SELECT
        *,
        squares_of_rest / rest_df AS rest_variance,
        f_tail(squares_of_rounds / (rounds - 1) / nullif(rest_variance, 0), rounds - 1, rest_df) AS p_rounds,
        slope ** 2 * squares_of_positions AS squares_of_slope,
        nullif(greatest(round(squares_of_rest - squares_of_slope, 18), 0), 0) AS squares_left,
        CASE WHEN rest_df > 1 THEN
            f_tail(squares_of_slope / (squares_left / (rest_df - 1)), 1, rest_df - 1)
        END AS p_position
    FROM with_df
),
of_rounds AS (
    SELECT
        session_id, round,
        min(started_at) AS started_at,
        any_value(round_effect) AS round_effect
    FROM centred
    GROUP BY session_id, round
),
final AS (
    SELECT
        session_id,
        round,                       -- 0-based
        started_at,                  -- start of the round's first run, UTC
        sizes,                       -- number of cases and placements that are compared
        -- round_ratio: throughput of all sizes in this round ÷ their mean over rounds (geometric mean over sizes)
        exp(round_effect) AS round_ratio,
        exp(round_effect - t_quantile(rest_df) * sqrt(rest_variance / sizes * (1 - 1 / rounds))) AS round_ratio_lo,
        exp(round_effect + t_quantile(rest_df) * sqrt(rest_variance / sizes * (1 - 1 / rounds))) AS round_ratio_hi,
        p_rounds,  -- F test that all rounds are alike; null if the rest has no variance
        -- position_ratio: throughput at the last position of a round ÷ that at the first; null in a fixed order, which
        -- gives every size its own position
        exp(slope * last_position) AS position_ratio,
        p_position  -- F test that the position in the round makes no difference; null if it cannot be tested
    FROM of_rounds
    JOIN tested USING (session_id)
)
SELECT * FROM final;
