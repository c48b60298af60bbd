-- title: The machine was busy with other work
-- severity: warning
-- meaning: While the ranks ran, other processes used their CPUs. Any time of this session may include waiting for
--   them. An efficiency may be too low, or above 100 % because the baseline waited most.
--
-- Fires if other processes used 10 % or more of the ranks' CPUs, in the mean over the ok runs (other_work). The share
-- comes from the samples; sessions without it have no such finding.
SELECT
    session_id,
    'shown' AS certainty,
    other_cpu_share AS magnitude,
    format('other processes used {} of the ranks'' CPUs', percent_text(other_cpu_share))
        || if(
            other_cpu_share_largest >= other_cpu_share + 0.05,
            format('; the most, {}, in {}', percent_text(other_cpu_share_largest), busiest_run_id), ''
        ) AS evidence,
    'Stop other work on the machine, or request an exclusive node; then measure again.' AS advice
FROM other_work
WHERE is_busy
