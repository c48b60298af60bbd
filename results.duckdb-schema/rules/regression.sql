-- title: Slower than the previous session
-- severity: warning
-- meaning: The same case with the same settings on the same device model was slower than in the last session that ran
--   it. If something has changed since, that is the first suspect; if not, the machine is.
--
-- Fires at every row of `regressions`: slower by more than 2 % beyond noise, over all rows of the session, and by more
-- than sessions of this experiment usually differ. That usual difference is known from three earlier pairs of sessions
-- between which nothing changed. With fewer pairs the finding is likely: it comes from repeats alone, which do not
-- show how sessions differ. It is also likely if the machine was busy with other work in one of the two sessions
-- (other_work). Several repeats on both sides are needed; single ones show nothing.
WITH with_busy AS (
    SELECT
        regressions.*,
        busy_in(now.is_busy, earlier.is_busy) AS busy_in
    FROM regressions
    LEFT JOIN other_work AS now ON now.session_id = regressions.session_id
    LEFT JOIN other_work AS earlier ON earlier.session_id = previous_session_id
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(usual_hi IS NULL OR busy_in IS NOT NULL, 'likely', 'shown') AS certainty,
    if(is_too_wide(ratio_lo, ratio_hi), NULL, 1 - ratio) AS cost,
    1 - ratio AS magnitude,
    format(
        '{} {} at {}, but {} gave {}: {:.3f}×{}; {}',
        number_text(throughput), throughput_unit, placement, previous_session_id, number_text(previous_throughput),
        ratio,
        if(
            is_too_wide(ratio_lo, ratio_hi), ', too noisy to say how much slower',
            format(' [{:.3f}, {:.3f}]', ratio_lo, ratio_hi)
        ),
        CASE
            WHEN changes <> '' THEN 'changed since: ' || changes
            WHEN changes IS NULL THEN 'changes since then are unknown'
            ELSE 'nothing that must be equal has changed since'
        END
    ) || coalesce('; the machine was busy with other work in ' || busy_in, '') AS evidence,
    CASE
        WHEN busy_in IS NOT NULL
        THEN 'Measure again on a quiet machine before you look for a cause: the other work may be the cause.'
        WHEN changes <> '' THEN 'Revert the changes one at a time, and measure again.'
        ELSE 'Measure again when the machine is idle, then check its clocks, its neighbours and its storage.'
    END || format(' `bench compare {} {}` shows both sides.', previous_session_id, session_id) AS advice
FROM with_busy
