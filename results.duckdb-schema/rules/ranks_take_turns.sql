-- title: Ranks take turns in being slow
-- severity: warning
-- meaning: Each step lasts as long as its slowest rank. Here it is now this rank, now that one, so every step is slow
--   although no rank is. Work that differs from batch to batch does this, and so do disturbances of single cores.
--
-- Fires if the slowest rank of each step takes longer than the rank that is slowest on average, by more than 5 % of the
-- step with its whole 95 % interval over repeats; with one repeat it is likely, from 10 % on. Measured in forward under
-- DDP, and in profiled steps by the ranks' waits in collectives; the larger counts.
WITH in_forward AS (
    SELECT
        session_id, run_id, attempt,
        (any_value(forward_ns_most) - max(forward_ns_mean)) / any_value(run_part_stats.step_ns_mean) AS share,
        min(times_last / nullif(measured_steps, 0)) AS least_last,
        max(times_last / nullif(measured_steps, 0)) AS most_last
    FROM run_rank_stats
    JOIN run_part_stats USING (session_id, run_id, attempt)
    GROUP BY session_id, run_id, attempt
),
waits_of_ranks AS (
    SELECT session_id, run_id, attempt, rank, avg(exposed_communication_ns) AS exposed_ns
    FROM profile
    ANTI JOIN paused_profiles USING (session_id, run_id, attempt, step)
    GROUP BY session_id, run_id, attempt, rank
),
in_profile AS (
    SELECT
        session_id, run_id, attempt,
        (any_value(exposed_ns_most) - any_value(exposed_ns_least) - (max(exposed_ns) - min(exposed_ns)))
            / any_value(profiled_step_ns_mean) AS profiled_share
    FROM waits_of_ranks
    JOIN run_part_stats USING (session_id, run_id, attempt)
    GROUP BY session_id, run_id, attempt
),
over_repeats AS (
    SELECT
        session_id, case_name, nodes, ranks_per_node, threads, world_size,
        count(*) AS repeats,
        greatest(avg(share), avg(profiled_share)) AS share,
        avg(share) >= coalesce(avg(profiled_share), 0) AS is_in_forward,
        mean_half_width(
            count(*),
            if(avg(share) >= coalesce(avg(profiled_share), 0), var_samp(share), var_samp(profiled_share))
        ) AS half_width,
        avg(least_last) AS least_last,
        avg(most_last) AS most_last
    FROM run_summary
    JOIN in_forward USING (session_id, run_id, attempt)
    LEFT JOIN in_profile USING (session_id, run_id, attempt)
    WHERE status = 'ok' AND world_size > 1 AND NOT oversubscribed
    GROUP BY session_id, case_name, nodes, ranks_per_node, threads, world_size
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(half_width IS NULL, 'likely', 'shown') AS certainty,
    share AS cost,
    format(
        'the slowest rank of a step takes {} of the step longer {}than the rank that is slowest on average{}',
        share_text(share, share - half_width, share + half_width),
        if(is_in_forward, 'in forward ', 'before an exchange, in profiled steps, '),
        coalesce(
            format(
                '; each of {} ranks is last in {} to {} of the steps', world_size, percent_text(least_last),
                percent_text(most_last)
            ),
            ''
        )
    ) AS evidence,
    'Give the ranks equal work in each step: batches of examples of similar length, or as many tokens each.' AS advice,
    'If the work is equal already, look for what disturbs single ranks: garbage collection '
    '(measure.garbage_collection=frozen), logging, other processes on their cores.' AS alternatives
FROM over_repeats
WHERE coalesce(share - half_width, share - 0.05) > 0.05
