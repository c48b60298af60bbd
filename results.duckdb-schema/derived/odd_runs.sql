-- One row per odd run: an ok run, of three or more of its size, that was much faster or slower than its size and its
-- round explain. With e = ln(time) - median of the size - median of the round (three sizes or more) - median of the
-- size again, it is odd if |e| is above ln 1.2 and above 8 times the 68.3 % quantile of the session's |e|, without the
-- one of each size that its median makes zero.
WITH ok_runs AS (
    SELECT
        session_id, run_id, attempt, case_name, nodes, ranks_per_node, threads, round,
        resolution,
        -ln(throughput) AS log_time
    FROM run_summary
    WHERE throughput > 0 AND NOT oversubscribed
    -- of two, each is as far from their middle as the other
    QUALIFY count(*) OVER (PARTITION BY session_id, case_name, nodes, ranks_per_node, threads) > 2
),
without_size AS (
    SELECT
        ok_runs.*,
        log_time - median(log_time) OVER (PARTITION BY session_id, case_name, nodes, ranks_per_node, threads) AS rest
    FROM ok_runs
),
without_round AS (
    SELECT * REPLACE (
        CASE
            -- of two sizes, an odd run and an odd round look alike
            WHEN round IS NOT NULL AND count(*) OVER of_round > 2 THEN rest - median(rest) OVER of_round
            ELSE rest
        END AS rest
    )
    FROM without_size
    WINDOW of_round AS (PARTITION BY session_id, round)
),
rests AS (
    SELECT * REPLACE (
        rest - median(rest) OVER (PARTITION BY session_id, case_name, nodes, ranks_per_node, threads) AS rest
    )
    FROM without_round
),
places AS (
    SELECT
        session_id,
        list_sort(list(abs(rest))) AS ordered,
        least(
            count(*) FILTER (abs(rest) < 1e-12), count(DISTINCT (case_name, nodes, ranks_per_node, threads))
        ) AS zeros
    FROM rests
    GROUP BY session_id
),
sigmas AS (
    SELECT
        session_id,
        ordered[zeros + ceil(0.683 * (len(ordered) - zeros))::BIGINT] AS sigma
    FROM places
),
final AS (
    SELECT
        session_id, run_id, attempt, case_name, nodes, ranks_per_node, threads, round,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        exp(rest) AS slowdown  -- time ÷ what its size and its round explain; below 1 it was faster
    FROM rests
    JOIN sigmas USING (session_id)
    -- rounding to a tenth or less would make equal runs odd
    WHERE abs(rest) > greatest(ln(1.2), 8 * sigma) AND coalesce(resolution, 0) <= 0.1
)
SELECT * FROM final;
