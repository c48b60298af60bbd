-- One row per slow run: an ok run that took at least 20 % longer than the typical run of its size, and much longer than
-- runs of its session differ. Slow runs do not count for *typical* figures, such as those of `scaling`; `expected`
-- includes them. A size needs three ok runs, and its slow ones must stand apart from all its others: in doubt none is
-- slow, and the intervals are wide instead. docs/methodology/scaling.md has the test and how often it is right.
WITH ok_runs AS (
    SELECT
        session_id, run_id, attempt, case_name, nodes, ranks_per_node, threads, round,
        -ln(throughput) AS log_time,
        count(*) OVER of_size AS runs
    FROM run_summary
    WHERE throughput > 0 AND NOT oversubscribed
    WINDOW of_size AS (PARTITION BY session_id, case_name, nodes, ranks_per_node, threads)
),
-- Disturbances only add time. So the typical run of a size is one of its fastest: of three the second, of ten the
-- third.
with_places AS (
    SELECT *, greatest(2, ceil(runs / 4))::BIGINT AS typical_place FROM ok_runs
    WHERE runs > 2
),
shapes AS (
    SELECT
        session_id,
        max(runs) AS repeats,
        count(DISTINCT (case_name, nodes, ranks_per_node, threads)) AS sizes,
        -- With two sizes, a slow run and a slow round look alike.
        sizes > 2 AND count(round) = count(*) AS takes_rounds_out
    FROM with_places
    GROUP BY session_id
),
beyond_size AS (
    SELECT
        with_places.*, repeats, sizes, takes_rounds_out,
        log_time - list_sort(list(log_time) OVER of_size)[typical_place] AS excess
    FROM with_places
    JOIN shapes USING (session_id)
    WINDOW of_size AS (PARTITION BY session_id, case_name, nodes, ranks_per_node, threads)
),
-- Twice: without the effect of the round, and again beyond the typical run of the size.
beyond_round AS (
    SELECT * REPLACE (
        CASE
            WHEN takes_rounds_out THEN excess - list_sort(list(excess) OVER of_round)[(count(*) OVER of_round + 1) // 2]
            ELSE excess
        END AS excess
    )
    FROM beyond_size
    WINDOW of_round AS (PARTITION BY session_id, round)
),
beyond_both AS (
    SELECT * REPLACE (excess - list_sort(list(excess) OVER of_size)[typical_place] AS excess)
    FROM beyond_round
    WINDOW of_size AS (PARTITION BY session_id, case_name, nodes, ranks_per_node, threads)
),
beyond_round_again AS (
    SELECT * REPLACE (
        CASE
            WHEN takes_rounds_out THEN excess - list_sort(list(excess) OVER of_round)[(count(*) OVER of_round + 1) // 2]
            ELSE excess
        END AS excess
    )
    FROM beyond_both
    WINDOW of_round AS (PARTITION BY session_id, round)
),
excesses AS (
    SELECT * REPLACE (excess - list_sort(list(excess) OVER of_size)[typical_place] AS excess)
    FROM beyond_round_again
    WINDOW of_size AS (PARTITION BY session_id, case_name, nodes, ranks_per_node, threads)
),
-- The deviation of ordinary runs, which slow ones hardly change: from the median, with what rounds and sizes take.
candidates AS (
    SELECT
        *,
        1.4826 * median(abs(excess)) OVER of_session
            * sqrt(repeats * sizes / ((repeats - 1) * greatest(1, sizes - 1))) AS deviation,
        excess > greatest(ln(1.2), 8 * deviation) AS is_candidate
    FROM excesses
    WINDOW of_session AS (PARTITION BY session_id)
),
with_gaps AS (
    SELECT
        *,
        count(*) FILTER (is_candidate) OVER of_size AS slow_ones,
        min(excess) FILTER (is_candidate) OVER of_size - max(excess) FILTER (NOT is_candidate) OVER of_size AS gap,
        stddev_samp(excess) FILTER (NOT is_candidate) OVER of_size AS others_deviation
    FROM candidates
    WINDOW of_size AS (PARTITION BY session_id, case_name, nodes, ranks_per_node, threads)
),
final AS (
    SELECT
        session_id, run_id, attempt, case_name, nodes, ranks_per_node, threads,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        exp(excess) AS slowdown  -- time ÷ that of a typical run of the size in the same round
    FROM with_gaps
    WHERE is_candidate AND slow_ones <= greatest(1, runs - 2) AND gap > 6 * others_deviation
)
SELECT * FROM final;
