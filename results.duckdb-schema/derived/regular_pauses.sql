-- One row per session, case and placement whose measured steps pause at a regular interval, as for logging or saving:
-- at least two steps of every ok run take more than 1.5 times the run's median step, and of three gaps or more between
-- successive ones, over all runs, four fifths are equally many steps.
WITH steps_of_ok_runs AS (
    SELECT session_id, run_id, attempt, step, step_ns
    FROM step_stats
    SEMI JOIN (FROM run_summary WHERE status = 'ok') AS ok_runs USING (session_id, run_id, attempt)
    WHERE kind = 'measured'
),
usual AS (
    SELECT session_id, run_id, attempt, median(step_ns) AS usual_ns, sum(step_ns) AS total_ns
    FROM steps_of_ok_runs
    GROUP BY session_id, run_id, attempt
),
long AS (
    SELECT
        session_id, run_id, attempt, step, step_ns, usual_ns,
        step - lag(step) OVER (PARTITION BY session_id, run_id, attempt ORDER BY step) AS gap_steps
    FROM steps_of_ok_runs
    JOIN usual USING (session_id, run_id, attempt)
    WHERE step_ns > 1.5 * usual_ns
),
gaps AS (
    SELECT session_id, case_name, nodes, ranks_per_node, threads, mode(gap_steps) AS period_steps
    FROM long
    JOIN run_summary USING (session_id, run_id, attempt)
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
each_run AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, run_id, attempt, period_steps,
        count(long.step) AS pauses,
        count(gap_steps) AS gaps,
        count(*) FILTER (gap_steps = period_steps) AS equal_gaps,
        avg(step_ns / long.usual_ns) AS times_usual,
        coalesce(sum(step_ns - long.usual_ns), 0) / any_value(total_ns) AS share
    FROM usual
    JOIN run_summary USING (session_id, run_id, attempt)
    JOIN gaps USING (session_id, case_name, nodes, ranks_per_node, threads)
    LEFT JOIN long USING (session_id, run_id, attempt)
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads, run_id, attempt, period_steps
),
regular AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, period_steps,
        count(*) AS repeats,
        avg(times_usual) AS times_usual,
        list(share) AS shares,
        mean_half_width(count(*), variance_of(list(share))) AS half_width
    FROM each_run
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads, period_steps
    HAVING period_steps > 1 AND min(pauses) >= 2 AND sum(gaps) >= 3 AND sum(equal_gaps) >= 0.8 * sum(gaps)
),
-- By how much each phase of each rank is longer in the pausing steps.
each_rank AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, rank,
        avg(data_ns) FILTER (is_long) - avg(data_ns) FILTER (NOT is_long) AS data_ns,
        avg(forward_ns) FILTER (is_long) - avg(forward_ns) FILTER (NOT is_long) AS forward_ns,
        avg(backward_ns) FILTER (is_long) - avg(backward_ns) FILTER (NOT is_long) AS backward_ns,
        avg(optimizer_ns) FILTER (is_long) - avg(optimizer_ns) FILTER (NOT is_long) AS optimizer_ns
    FROM (
        SELECT steps.*, long.step IS NOT NULL AS is_long
        FROM steps
        SEMI JOIN long AS of_long ON of_long.session_id = steps.session_id AND of_long.run_id = steps.run_id
            AND of_long.attempt = steps.attempt
        LEFT JOIN long USING (session_id, run_id, attempt, step)
        WHERE kind = 'measured'
    ) AS marked
    JOIN run_summary USING (session_id, run_id, attempt)
    SEMI JOIN regular USING (session_id, case_name, nodes, ranks_per_node, threads)
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads, rank
),
-- In backward, ranks wait for one that pauses earlier; so it pauses there only as long as all do.
of_phases AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        unnest(['data', 'forward', 'backward', 'optimizer']) AS phase,
        unnest([max(data_ns), max(forward_ns), min(backward_ns), max(optimizer_ns)]) AS phase_ns
    FROM each_rank
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
pausing_phases AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        arg_max(phase, phase_ns) AS phase,
        max(phase_ns) AS phase_ns
    FROM of_phases
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
lengths AS (
    SELECT session_id, case_name, nodes, ranks_per_node, threads, avg(step_ns - usual_ns) AS pause_ns
    FROM long
    JOIN run_summary USING (session_id, run_id, attempt)
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads
),
final AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads,
        point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS point_id,
        repeats,                     -- number of ok runs
        period_steps,                -- steps from one pause to the next
        pause_ns / 1e6 AS pause_ms,  -- time of a pausing step beyond the median step, mean over pauses
        times_usual,                 -- duration of a pausing step ÷ the run's median step
        mean_of(shares) AS share,    -- share of the measured steps' time that the pauses take, mean over ok runs
        end_of_share(mean_of(shares) - half_width) AS share_lo,
        end_of_share(mean_of(shares) + half_width) AS share_hi,
        -- phase: of the step that has at least half of the pause: data, forward, backward, optimizer; null: none, as
        -- between two steps
        CASE WHEN phase_ns >= 0.5 * pause_ns THEN phase END AS phase
    FROM regular
    JOIN lengths USING (session_id, case_name, nodes, ranks_per_node, threads)
    JOIN pausing_phases USING (session_id, case_name, nodes, ranks_per_node, threads)
)
SELECT * FROM final;
