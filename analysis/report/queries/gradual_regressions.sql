-- One row per placement at which the session is slower than an earlier one with no regression in between, the largest
-- difference first.
SELECT line, placement, ratio, ratio_lo, ratio_hi, reference_order
FROM gradual_regressions
WHERE session_id = $session_id
ORDER BY ratio;
