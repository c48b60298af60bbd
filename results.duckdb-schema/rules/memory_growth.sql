-- title: Memory grows from step to step
-- severity: warning
-- meaning: Every step needs the same memory. If each step takes some more, something is kept that should have been
--   freed, and a long training runs out of memory hours or days after it started.
--
-- Fires if a rank's memory rises in every sixth of the measured steps, in every ok repeat (is_growing of memory; one
-- or two jumps do not count), and would be full within a million steps, more than most trainings have. If the free
-- memory is unknown, it fires at any such rise.
WITH collections AS (
    SELECT DISTINCT session_id, case_name, nodes, ranks_per_node, threads
    FROM runs
    WHERE config ->> '$.measure.garbage_collection' = 'off'
)
SELECT
    session_id, memory.case_name, memory.nodes, memory.ranks_per_node, memory.threads,
    'shown' AS certainty,
    growth_bytes_per_step AS magnitude,
    format(
        'memory of rank {} rises by {} per step, from the first to the last and in every ok repeat{}',
        growing_rank, format_bytes(growth_bytes_per_step::BIGINT),
        if(
            steps_to_full IS NULL, '',
            format(
                '; the {} that are free last for {:,} steps', format_bytes(greatest(headroom_bytes, 0)), steps_to_full
            )
        )
    ) AS evidence,
    if(
        collections.session_id IS NULL,
        'Look for objects that outlive their step: losses that are kept or summed with their graph (use loss.item() or '
        'loss.detach()), growing lists and dictionaries, hooks, caches by shape.',
        'Turn on Python''s garbage collection in measured steps: it is off here, so objects in reference cycles stay. '
        'If memory still grows, look for objects that are kept from step to step.'
    ) AS advice,
    if(
        collections.session_id IS NULL, NULL,
        option_of(memory.case_name, 'measure.garbage_collection', 'automatic')
    ) AS options
FROM memory
LEFT JOIN collections USING (session_id, case_name, nodes, ranks_per_node, threads)
WHERE is_growing AND growing_rank IS NOT NULL AND coalesce(steps_to_full, 0) < 1e6
