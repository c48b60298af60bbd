-- One row per session, case, placement (not the baseline) and term: where the efficiency was lost. An example costs c =
-- workers ÷ throughput seconds of all ranks together (of all threads, if these are the axis), so 1 - efficiency = (c -
-- the baseline's c) ÷ c. If a part takes t seconds of a rank's mean step, an example costs t × workers ÷ examples per
-- step for it. The share of a term is this cost here minus at the baseline, ÷ c, from the parts of run_parts that are
-- known on both sides in the same way. A term's share is that of the median round (`median_interval`, as in scaling),
-- or the difference of mean costs where rounds are unknown. A term that is unknown is null and included in the
-- remainder; so is what medians do not add up to: the six terms add up to 1 - efficiency. Intervals: two-sided 95 %,
-- null where efficiency has none; that of an estimate also contains the error of its model.
-- docs/methodology/lost-efficiency.md has the formula of each term.
WITH pairs AS MATERIALIZED (
    SELECT
        session_id, suite, case_name, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        placement, oversubscribed, repeats, rounds, stops_early, examples_per_step,
        baseline_case, baseline_workers, baseline_nodes, baseline_ranks_per_node, baseline_threads,
        efficiency, efficiency_lo, efficiency_hi, verdict_lo, verdict_hi, throughput_unit,
        row_number() OVER () AS pair,
        workers / throughput AS cost_s
    FROM scaling
    WHERE efficiency IS NOT NULL AND NOT is_baseline AND scaling_mode <> 'none'
),
sides AS (
    SELECT pair, 'here' AS side, session_id, case_name, workers, nodes, ranks_per_node, threads FROM pairs
    UNION ALL
    SELECT
        pair, 'baseline', session_id, baseline_case, baseline_workers, baseline_nodes, baseline_ranks_per_node,
        baseline_threads
    FROM pairs
),
-- Every run of both sides, once for each way in which its parts may be known; the most reliable way that all of them
-- have is used. Estimated parts derive from the baseline's one rank, and are compared with it.
candidates AS (
    SELECT
        sides.*, run_id, attempt, round, preference, way,
        CASE WHEN side = 'baseline' AND way = 'estimated' THEN 'one rank' ELSE way END AS known_by,
        sides.workers / throughput AS run_cost_s,
        sides.workers / examples_per_step / 1e3 AS cost_s_per_ms
    FROM sides
    JOIN (FROM run_summary WHERE throughput IS NOT NULL) AS ok_runs
        USING (session_id, case_name, nodes, ranks_per_node, threads)
    CROSS JOIN (VALUES (1, 'profiled'), (2, 'one rank'), (3, 'estimated'), (4, NULL)) AS ways(preference, way)
),
taken_apart AS (
    SELECT
        candidates.*,
        data_ms, imbalance_ms, communication_ms, computation_ms,
        sm_clock_mhz,
        way IS NULL OR bool_and(run_parts.run_id IS NOT NULL) OVER (PARTITION BY pair, way) AS all_have_it
    FROM candidates
    LEFT JOIN run_parts
        ON run_parts.session_id = candidates.session_id AND run_parts.run_id = candidates.run_id
        AND run_parts.attempt = candidates.attempt AND run_parts.known_by IS NOT DISTINCT FROM candidates.known_by
),
in_one_way AS (
    SELECT * FROM taken_apart
    WHERE all_have_it
    QUALIFY preference = min(preference) OVER (PARTITION BY pair)
),
with_clocks AS (
    SELECT
        *,
        CASE
            WHEN count(sm_clock_mhz) OVER of_pair = count(*) OVER of_pair
            THEN computation_ms * (1 - sm_clock_mhz / avg(sm_clock_mhz) FILTER (side = 'baseline') OVER of_pair)
        END AS clocks_ms
    FROM in_one_way
    WINDOW of_pair AS (PARTITION BY pair)
),
long AS (
    SELECT
        pair, side, way, session_id, run_id, round, run_cost_s,
        unnest(['data', 'imbalance', 'communication', 'clocks', 'work']) AS term,
        cost_s_per_ms * unnest([
            data_ms, imbalance_ms, communication_ms, clocks_ms, computation_ms - coalesce(clocks_ms, 0)
        ]) AS term_s
    FROM with_clocks
),
known AS (
    SELECT * REPLACE (
        CASE
            WHEN count(term_s) OVER (PARTITION BY pair, term) = count(*) OVER (PARTITION BY pair, term) THEN term_s
        END AS term_s
    )
    FROM long
),
with_remainder AS MATERIALIZED (
    SELECT pair, side, way, round, run_cost_s, term, term_s FROM known
    UNION ALL
    SELECT
        pair, side, any_value(way), any_value(round), any_value(run_cost_s), 'remainder',
        any_value(run_cost_s) - coalesce(sum(term_s), 0)
    FROM known
    GROUP BY pair, side, session_id, run_id
),
-- The share of a term in one round: its cost here minus that at the baseline, ÷ what an example costs here.
over_rounds AS (
    SELECT pair, term, list((here.term_s - baseline.term_s) / here.run_cost_s ORDER BY round) AS shares
    FROM (FROM with_remainder WHERE side = 'here') AS here
    JOIN (FROM with_remainder WHERE side = 'baseline') AS baseline USING (pair, term, round)
    GROUP BY pair, term
),
over_repeats AS (
    SELECT
        pair, term,
        any_value(way) AS known_by,
        list(term_s) FILTER (side = 'here') AS here_s,
        list(term_s) FILTER (side = 'baseline') AS baseline_s
    FROM with_remainder
    GROUP BY pair, term
),
with_middles AS (
    SELECT
        pairs.*,
        -- as scaling decides it for the ratio
        CASE
            WHEN rounds IS NOT NULL THEN median_interval(shares, stops_early)
            ELSE {
                'point': (mean_of(here_s) - mean_of(baseline_s)) / cost_s,
                'lo': (mean_of(here_s) - mean_of(baseline_s) - welch) / cost_s,
                'hi': (mean_of(here_s) - mean_of(baseline_s) + welch) / cost_s
            }
        END AS middle
    FROM (
        SELECT
            *,
            CASE WHEN least(len(here_s), len(baseline_s)) > 1
                THEN welch_half_width(here_s, baseline_s, pairs.stops_early)
            END AS welch
        FROM over_repeats
        JOIN pairs USING (pair)
    ) AS pairs
    LEFT JOIN over_rounds USING (pair, term)
),
with_shares AS (
    SELECT
        *,
        list_position(['data', 'imbalance', 'communication', 'clocks', 'work', 'remainder'], term) AS term_order,
        CASE
            WHEN term = 'remainder'
            THEN 1 - efficiency - coalesce(sum(middle.point) FILTER (term <> 'remainder') OVER of_pair, 0)
            ELSE middle.point
        END AS share,
        CASE WHEN efficiency_lo IS NOT NULL THEN share - (middle.point - middle.lo) END AS share_lo,
        CASE WHEN efficiency_lo IS NOT NULL THEN share + (middle.hi - middle.point) END AS share_hi
    FROM with_middles
    WINDOW of_pair AS (PARTITION BY pair)
),
-- In backward, an estimate cannot distinguish communication from a slower rank or slower computation: communication may
-- be 0, and each of the others longer by all of it.
with_model_error AS (
    SELECT * REPLACE (
        CASE WHEN known_by = 'estimated' AND term = 'communication' AND share_lo > 0 THEN 0 ELSE share_lo END
            AS share_lo,
        CASE
            WHEN known_by = 'estimated' AND term IN ('imbalance', 'work') THEN share_hi + communication_share
            ELSE share_hi
        END AS share_hi
    )
    FROM (
        SELECT *, greatest(max(share) FILTER (term = 'communication') OVER (PARTITION BY pair), 0)
            AS communication_share
        FROM with_shares
    ) AS with_communication
),
-- The order of summation is not fixed between loads, so sums may differ in the sixteenth digit, and so may the rest of
-- a sum that is 0; + 0 turns -0.0 into 0.
rounded AS (
    SELECT * REPLACE (
        round(share, 12) + 0 AS share, round(share_lo, 12) + 0 AS share_lo, round(share_hi, 12) + 0 AS share_hi
    )
    FROM with_model_error
),
final AS (
    SELECT
        session_id, suite, case_name, scaling_mode, strategy, axis, workers, world_size, nodes, ranks_per_node, threads,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        placement, oversubscribed, baseline_case, baseline_workers, repeats,
        efficiency,
        efficiency_lo,
        efficiency_hi,
        -- is_decided: whether the interval of efficiency lies below 1 and spans at most two verdicts; null: no interval
        efficiency_hi < 1 AND NOT is_open(verdict_lo, verdict_hi) AS is_decided,
        term_order,                  -- 1 to 6; time that two terms share counts for the earlier one
        term,                        -- data, imbalance, communication, clocks, work, remainder
        share,                       -- share of the rank-time at this size; negative: a gain; null: unknown
        share_lo,
        CASE WHEN share <= 1 AND share_hi > 1 THEN 1 ELSE share_hi END AS share_hi,  -- at most 1
        -- rank_s_per_example: rank-seconds per example beyond the baseline's; null if throughput counts no examples
        CASE WHEN throughput_unit = 'examples/s' THEN share * cost_s END AS rank_s_per_example,
        -- lost_ms: lost time in a rank's mean step; null if throughput counts no examples
        rank_s_per_example * 1e3 * examples_per_step / workers AS lost_ms,
        known_by                     -- as in run_parts: profiled, one rank, estimated; null: communication is unknown
    FROM rounded
)
SELECT * FROM final;
