-- title: Uneven ranks make the step longer
-- severity: warning
-- meaning: In a collective all ranks wait for the last one. If the same work took the same time on every rank and in
--   every step, the waits would vanish, and the step would take less time with the same hardware.
--
-- Fires if a replay of the profiled steps without stragglers takes at least 5 % less time than the replay with the
-- measured durations.
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    'likely' AS certainty,
    1 - even_ms / replayed_ms AS cost,
    format(
        'without stragglers the step would take {} ms instead of {} ms: {} less', number_text(even_ms),
        number_text(replayed_ms), percent_text(1 - even_ms / replayed_ms)
    ) AS evidence,
    CASE
        WHEN slowest_share > 0.5
        THEN format('the slowest 3 % of the workers ({}) explain {} of it', slowest,
            percent_text(least(slowest_share, 1)))
        ELSE format('the slowest 3 % of the workers ({}) explain {} of it, so most of it is spread over the others', slowest,
            percent_text(greatest(slowest_share, 0)))
    END AS details,
    CASE
        WHEN slowest_share > 0.5 THEN format('Check the GPUs, cores and data of these workers: {}.', slowest)
        ELSE 'Look for uneven work: sequence lengths, stages of a pipeline, experts, data loading.'
    END AS advice
FROM step_without_stragglers
WHERE even_ms < 0.95 * replayed_ms
