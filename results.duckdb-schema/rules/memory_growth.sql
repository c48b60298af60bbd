-- title: Memory grows from step to step
-- severity: warning
-- meaning: Every step needs the same memory. Where each takes some more, something is kept that should have been let
--   go, and a training that is long enough runs out of memory, hours or days after it began.
--
-- Fires where the memory of a rank rises with every sixth of the measured steps, in every ok repeat (is_growing of
-- memory: one jump or two are none), and would be full within a million steps, more than most trainings have; where it
-- is not known what is free, at any such rise.
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
            format('; the {} that are free last {:,} steps', format_bytes(greatest(headroom_bytes, 0)), steps_to_full)
        )
    ) AS evidence,
    if(
        collections.session_id IS NULL,
        'Look for what outlives its step: losses that are kept or added up with their graph (take loss.item() or '
        'loss.detach()), lists and dictionaries that get longer, hooks, caches by shape.',
        'Let Python collect its garbage in measured steps too: it is off here, and what refers to itself in a circle '
        'stays. If memory still grows, look for what is kept from step to step.'
    ) AS advice,
    if(
        collections.session_id IS NULL, NULL,
        knob_of(memory.case_name, 'measure.garbage_collection', 'automatic')
    ) AS knob
FROM memory
LEFT JOIN collections USING (session_id, case_name, nodes, ranks_per_node, threads)
WHERE is_growing AND growing_rank IS NOT NULL AND coalesce(steps_to_full, 0) < 1e6
