-- title: Slower than some sessions ago
-- severity: warning
-- meaning: The same case with the same settings on the same device model is slower than some sessions ago, with no
--   regression in between: small losses added up, or too few repeats hid a larger one.
--
-- Fires at every row of `gradual_regressions`: slower by more than 2 % than the first session of the experiment,
-- than its last regression or than the session after its last improvement, beyond what repeats and successive sessions
-- vary. Four or more sessions must have followed that one. If the machine was busy with other work in one of the two
-- sessions, the finding is likely.
WITH with_busy AS (
    SELECT
        gradual_regressions.*,
        busy_in(now.is_busy, earlier.is_busy) AS busy_in
    FROM gradual_regressions
    LEFT JOIN other_work AS now ON now.session_id = gradual_regressions.session_id
    LEFT JOIN other_work AS earlier ON earlier.session_id = reference_session_id
)
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(busy_in IS NULL, 'shown', 'likely') AS certainty,
    if(is_too_wide(ratio_lo, ratio_hi), NULL, 1 - ratio) AS cost,
    1 - ratio AS magnitude,
    format(
        '{} {} at {}, but {}, {} comparable sessions ago, gave {}: {:.3f}× [{:.3f}, {:.3f}]; no regression of this '
        'placement in between',
        number_text(throughput), throughput_unit, placement, reference_session_id, sessions_since,
        number_text(reference_throughput), ratio, ratio_lo, ratio_hi
    ) || coalesce('; the machine was busy with other work in ' || busy_in, '') AS evidence,
    if(
        busy_in IS NULL, '', 'Measure again on a quiet machine before you look for a cause: the other work may be the '
        'cause. '
    ) || format(
        '`bench compare {} {}` shows what differs between the two. Then compare with a session halfway between them, '
        'and so on, to find where most was lost.', reference_session_id, session_id
    ) AS advice
FROM with_busy
