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

-- The regions of ln(efficiency) with one verdict each, as `units_to_decide` takes them.
CREATE OR REPLACE MACRO verdict_regions() AS (
    [
        {'low': -1e3, 'high': ln(0.50), 'before': -1e3},
        {'low': ln(0.50), 'high': ln(0.75), 'before': ln(0.50)},
        {'low': ln(0.75), 'high': ln(0.90), 'before': ln(0.75)},
        {'low': ln(0.90), 'high': ln(1.05), 'before': ln(0.90)},
        {'low': ln(1.05), 'high': 1e3, 'before': ln(1.05)}
    ]
);

-- Whether the interval of an efficiency spans more than two verdicts, given the verdicts at its ends; no verdict is
-- then possible. Null if one of them is unknown.
CREATE OR REPLACE MACRO is_open(verdict_lo, verdict_hi) AS (
    list_position(['poor', 'acceptable', 'good', 'excellent', 'superlinear'], verdict_hi)
        - list_position(['poor', 'acceptable', 'good', 'excellent', 'superlinear'], verdict_lo) > 1
);

-- Whether the interval of an efficiency spans more than two verdicts or a factor of four, so that the repeats do not
-- show how much was lost. False without an interval.
CREATE OR REPLACE MACRO is_loss_unknown(efficiency_lo, efficiency_hi) AS (
    coalesce(
        is_open(verdict_of(efficiency_lo), verdict_of(efficiency_hi)) OR is_too_wide(efficiency_lo, efficiency_hi),
        false
    )
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

-- Verdict on a ratio of two throughputs with its 95 % interval: `faster` or `slower` if the interval excludes 1, `same`
-- if it lies within 1 ± margin, else `inconclusive` (also without an interval); null without a ratio.
CREATE OR REPLACE MACRO ratio_verdict(ratio, ratio_lo, ratio_hi, margin) AS (
    CASE
        WHEN ratio IS NULL THEN NULL
        WHEN ratio_lo > 1 THEN 'faster'
        WHEN ratio_hi < 1 THEN 'slower'
        WHEN ratio_lo >= 1 - margin AND ratio_hi <= 1 + margin THEN 'same'
        ELSE 'inconclusive'
    END
);

-- Largest relative difference between losses that rounding explains within 20 steps, by precision; null for other
-- precisions. docs/methodology/scaling.md explains the choice.
CREATE OR REPLACE MACRO loss_tolerance_of(trained_in) AS (
    CASE trained_in WHEN 'fp32' THEN 1e-4 WHEN 'tf32' THEN 1e-2 WHEN 'fp16' THEN 1e-2 WHEN 'bf16' THEN 5e-2 END
);
