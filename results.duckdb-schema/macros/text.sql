-- A number as text with three digits, or all digits before the decimal point: `0.0123`, `1.23`, `12.3`, `1,235`.
CREATE OR REPLACE MACRO number_text(number) AS (
    format(
        CASE
            WHEN abs(number) >= 99.95 THEN '{:,.0f}'
            WHEN abs(number) >= 9.995 THEN '{:.1f}'
            WHEN abs(number) >= 0.9995 THEN '{:.2f}'
            ELSE '{:.3g}'
        END,
        number::DOUBLE
    )
);

-- A share as text in percent: `43 %`; below a tenth with one decimal, `4.3 %`.
CREATE OR REPLACE MACRO percent_text(share) AS (
    regexp_replace(
        if(abs(share) < 0.0995, format('{:.1f} %', round(100.0 * share, 1) + 0.0), format('{:,.0f} %', 100.0 * share)),
        '^-', '−'
    )
);

-- An efficiency as text in percent, with the digits that its verdict needs: 0.8996 is good, and not `90 %`.
CREATE OR REPLACE MACRO efficiency_percent(efficiency) AS (
    CASE
        WHEN verdict_of(round(efficiency, 2)) = verdict_of(efficiency) THEN percent_text(efficiency)
        WHEN verdict_of(round(efficiency, 3)) = verdict_of(efficiency) THEN format('{:.1f} %', 100 * efficiency)
        WHEN verdict_of(round(efficiency, 4)) = verdict_of(efficiency) THEN format('{:.2f} %', 100 * efficiency)
        ELSE format('{:.6f} %', 100 * efficiency)
    END
);

-- An efficiency with its interval, as share_text writes a share.
CREATE OR REPLACE MACRO efficiency_text(efficiency, lo, hi) AS (
    efficiency_percent(efficiency) || coalesce(
        format(' [{}, {}]', replace(efficiency_percent(lo), ' %', ''), replace(efficiency_percent(hi), ' %', '')), ''
    )
);

-- A share with its interval as text in percent: `43 % [38, 49]`; without the interval if an end is unknown, `43 %`.
CREATE OR REPLACE MACRO share_text(share, lo, hi) AS (
    percent_text(share) || coalesce(
        format(' [{}, {}]', replace(percent_text(lo), ' %', ''), replace(percent_text(hi), ' %', '')), ''
    )
);

-- A small share as text in percent with three digits, and its interval: `0.0143 % [0.0139, 0.0147]`.
CREATE OR REPLACE MACRO fraction_text(share, lo, hi) AS (
    number_text(100 * share) || ' %'
        || coalesce(format(' [{}, {}]', number_text(100 * lo), number_text(100 * end_of_share(hi))), '')
);

-- Whether the ends of a ratio's interval differ by more than a factor of four: it then tells nothing, and is not shown.
-- Null without an interval. analysis/wording/numbers.py has the same limit.
CREATE OR REPLACE MACRO is_too_wide(lo, hi) AS (hi > 4 * lo);

-- Key of a case's placement in a session: `SESSION/CASE/2x4.t8` is 2 nodes with 4 ranks each and 8 threads per rank.
-- Every table or view about placements has it as point_id: `JOIN … USING (point_id)`. Null if a part is unknown.
CREATE OR REPLACE MACRO point_id_of(session_id, case_name, nodes, ranks_per_node, threads) AS (
    session_id || '/' || case_name || '/' || nodes || 'x' || ranks_per_node || '.t' || threads
);

-- Text form of a placement: `2x4` is 2 nodes with 4 ranks each; if threads are the axis, `1x1 t8`.
CREATE OR REPLACE MACRO placement_of(nodes, ranks_per_node, axis, threads) AS (
    nodes || 'x' || ranks_per_node || CASE WHEN axis = 'threads' THEN ' t' || threads ELSE '' END
);

-- Words for a term of efficiency_loss, as used in sentences.
CREATE OR REPLACE MACRO loss_name(term) AS (
    CASE term
        WHEN 'data' THEN 'waiting for data'
        WHEN 'imbalance' THEN 'waiting for slower ranks'
        WHEN 'communication' THEN 'exposed communication'
        WHEN 'clocks' THEN 'lower clocks'
        WHEN 'work' THEN 'slower computation'
        WHEN 'remainder' THEN 'not explained'
    END
);

-- The texts with a separator between them; '' if there are none, where array_to_string of DuckDB before 1.5 is null.
CREATE OR REPLACE MACRO joined(texts, separator) AS (
    CASE WHEN len(texts) = 0 THEN '' ELSE array_to_string(texts, separator) END
);
