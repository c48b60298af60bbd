-- Verdict on an efficiency; null if the efficiency is null or NaN. The efficiency is rounded first, so that
-- 0.7499999999999999 counts as 0.75.
CREATE OR REPLACE MACRO verdict_of(efficiency) AS (
    CASE
        WHEN isnan(efficiency::DOUBLE) THEN NULL
        WHEN round(efficiency, 9) > 1.05 THEN 'superlinear'
        WHEN round(efficiency, 9) >= 0.90 THEN 'excellent'
        WHEN round(efficiency, 9) >= 0.75 THEN 'good'
        WHEN round(efficiency, 9) >= 0.50 THEN 'acceptable'
        WHEN efficiency IS NOT NULL THEN 'poor'
    END
);

-- Whether the interval of an efficiency spans more than two verdicts, given the verdicts at its ends; no verdict is
-- then possible. Null if one of them is unknown.
CREATE OR REPLACE MACRO is_open(verdict_lo, verdict_hi) AS (
    list_position(['poor', 'acceptable', 'good', 'excellent', 'superlinear'], verdict_hi)
        - list_position(['poor', 'acceptable', 'good', 'excellent', 'superlinear'], verdict_lo) > 1
);

-- Whether the repeats do not show how much was lost, or that anything was: the interval of the efficiency contains 1,
-- or spans more than two verdicts or a factor of four. False without an interval.
CREATE OR REPLACE MACRO is_loss_unknown(efficiency_lo, efficiency_hi) AS (
    coalesce(
        efficiency_hi >= 1
        OR is_open(verdict_of(efficiency_lo), verdict_of(efficiency_hi)) OR is_too_wide(efficiency_lo, efficiency_hi),
        false
    )
);

-- Certainty of a cause that a row of efficiency_loss names: `estimated` if its time was derived and not measured, else
-- `shown` if the share has an interval, else `likely`. A loss that the repeats do not show (`is_loss_unknown`) has no
-- cause.
CREATE OR REPLACE MACRO certainty_of(known_by, share_lo) AS (
    CASE WHEN known_by = 'estimated' THEN 'estimated' WHEN share_lo IS NOT NULL THEN 'shown' ELSE 'likely' END
);

-- The share by which a rule judges a cause: the lower end of its interval, if there is one. An estimate is judged by
-- its point, because its interval includes the error of the model; the finding says that it is one.
CREATE OR REPLACE MACRO least_share_of(known_by, share, share_lo) AS (
    CASE WHEN known_by = 'estimated' THEN share ELSE coalesce(share_lo, share) END
);

-- Verdict on an efficiency, given the verdicts at the ends of its interval: both if there are two, as in `poor or
-- acceptable`, and `undecided` if it spans more. Without an interval it is the verdict on the efficiency.
CREATE OR REPLACE MACRO verdict_within(efficiency, verdict_lo, verdict_hi) AS (
    CASE
        WHEN is_open(verdict_lo, verdict_hi) THEN 'undecided'
        WHEN verdict_lo <> verdict_hi THEN verdict_lo || ' or ' || verdict_hi
        ELSE verdict_of(efficiency)
    END
);

-- Largest relative difference between losses that rounding explains within 20 steps, by precision; null for other
-- precisions. docs/methodology/scaling.md explains the choice.
CREATE OR REPLACE MACRO loss_tolerance_of(trained_in) AS (
    CASE trained_in WHEN 'fp32' THEN 1e-4 WHEN 'tf32' THEN 1e-2 WHEN 'fp16' THEN 1e-2 WHEN 'bf16' THEN 5e-2 END
);
