-- title: Cases became slower together
-- severity: warning
-- meaning: All cases, or most of them, lost the same share of their speed since earlier sessions. One cause that they
--   share is more likely than one in each: the machine if code and software are the same, else what changed.
--
-- Fires at every row of `shared_changes` that is slower. It is one finding of the session.
-- If the machine was busy with other work in this session or the last one before the change, the finding is likely.
WITH with_busy AS (
    SELECT shared_changes.*, busy_in(now.is_busy, earlier.is_busy) AS busy_in
    FROM shared_changes
    LEFT JOIN other_work AS now ON now.session_id = shared_changes.session_id
    LEFT JOIN other_work AS earlier ON earlier.session_id = level_session_id
    WHERE direction = 'slower'
)
SELECT
    session_id, NULL AS case_name,
    if(busy_in IS NULL, 'shown', 'likely') AS certainty,
    1 - ratio AS magnitude,
    format(
        '{} are {} slower than in sessions {} to {}, since session {}: {}; {}',
        subject, percent_text(1 - ratio), level_first_order, level_last_order, first_order, cause,
        CASE
            WHEN changes <> '' THEN 'changed then: ' || changes
            WHEN changes IS NULL THEN 'what changed then is unknown'
            ELSE 'code and software are the same'
        END
    ) || coalesce('; the machine was busy with other work in ' || busy_in, '') AS evidence,
    CASE
        WHEN busy_in IS NOT NULL
        THEN 'Measure again on a quiet machine before you look for a cause: the other work may be the cause.'
        WHEN cause = 'the machine' THEN 'Check the clocks, the power limits, the neighbours and the storage.'
        WHEN changes <> '' THEN 'Revert the changes one at a time, and measure again.'
        ELSE 'Find out what changed for all cases: code, software, machine.'
    END || format(' `bench compare {} {}` shows both sides.', level_session_id, session_id) AS advice
FROM with_busy
