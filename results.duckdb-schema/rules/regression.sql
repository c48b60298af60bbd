-- title: Slower than in earlier sessions
-- severity: warning
-- meaning: The same case with the same settings on the same device model is slower than its level of earlier sessions,
--   by more than the other cases share. If something has changed since, that is the first suspect; if not, the machine is.
--
-- Fires where a case and placement became slower in `history_changes`: by more than 2 %, in excess of what all cases
-- share, and beyond what repeats and sessions vary. It is likely if too few sessions show how much sessions vary, or if
-- the machine was busy with other work in this session or the last one before the change (other_work).
WITH with_busy AS (
    SELECT
        history_changes.*, throughput, throughput_unit, placement,
        busy_in(now.is_busy, earlier.is_busy) AS busy_in
    FROM history_changes
    JOIN history USING (session_id, case_name, nodes, ranks_per_node, threads)
    LEFT JOIN other_work AS now ON now.session_id = history_changes.session_id
    LEFT JOIN other_work AS earlier ON earlier.session_id = level_session_id
    WHERE direction = 'slower'
),
firsts AS (
    SELECT session_id AS first_session_id, case_name, nodes, ranks_per_node, threads, changes AS changes_then
    FROM history
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(assumed OR busy_in IS NOT NULL, 'likely', 'shown') AS certainty,
    if(is_too_wide(ratio_lo, ratio_hi), NULL, 1 - ratio) AS cost,
    1 - ratio AS magnitude,
    format(
        '{} {} at {}: {} of {}, since session {}; {}',
        number_text(throughput), throughput_unit, placement,
        if(
            is_too_wide(ratio_lo, ratio_hi), 'too noisy to say how much below the level',
            format('{:.3f}× [{:.3f}, {:.3f}] the level', ratio, ratio_lo, ratio_hi)
        ),
        if(
            level_first_order = level_last_order, 'session ' || level_last_order,
            format('sessions {} to {}', level_first_order, level_last_order)
        ),
        first_order,
        CASE
            WHEN changes_then <> '' THEN 'changed then: ' || changes_then
            WHEN changes_then IS NULL THEN 'what changed then is unknown'
            ELSE 'nothing that must be equal changed then'
        END
    ) || coalesce('; the machine was busy with other work in ' || busy_in, '') AS evidence,
    CASE
        WHEN busy_in IS NOT NULL
        THEN 'Measure again on a quiet machine before you look for a cause: the other work may be the cause.'
        WHEN changes_then <> '' THEN 'Revert the changes one at a time, and measure again.'
        ELSE 'Measure again when the machine is idle, then check its clocks, its neighbours and its storage.'
    END || format(' `bench compare {} {}` shows both sides.', level_session_id, session_id) AS advice
FROM with_busy
LEFT JOIN firsts USING (first_session_id, case_name, nodes, ranks_per_node, threads)
