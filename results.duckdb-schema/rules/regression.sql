-- title: Slower than the session before
-- severity: warning
-- meaning: The same case with the same settings on the same model of device gave less than in the last session that ran
--   it. Where something has changed since, that is the first suspect; where nothing has, the machine is.
--
-- Fires at every row of `regressions`: slower beyond 2 % for certain, over all rows of the session, and by more than
-- sessions of this experiment differ anyway. How much that is takes three earlier pairs of sessions between which
-- nothing changed: with fewer it is likely, by repeats alone, which do not know what differs between sessions. Several
-- repeats on both sides are needed; single ones show nothing.
SELECT
    session_id, case_name, nodes, ranks_per_node, threads,
    if(usual_hi IS NULL, 'likely', 'shown') AS certainty,
    1 - ratio AS cost,
    format(
        '{} {} at {}, where {} gave {}: ×{:.3f} [{:.3f}, {:.3f}]; {}',
        number_text(throughput), throughput_unit, placement, previous_session_id, number_text(previous_throughput),
        ratio, ratio_lo, ratio_hi,
        CASE
            WHEN changes <> '' THEN 'changed since: ' || changes
            WHEN changes IS NULL THEN 'what changed since is not known'
            ELSE 'of what must be equal nothing changed since'
        END
    ) AS evidence,
    CASE
        WHEN changes <> '' THEN 'Set what changed back, one thing at a time, and measure again.'
        ELSE 'Measure again when the machine is idle, then look at its clocks, its neighbours and its storage.'
    END || format(' `bench compare {} {}` has both sides.', previous_session_id, session_id) AS advice
FROM regressions
