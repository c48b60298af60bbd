-- The number as text with three digits or all before the point: `0.0123`, `1.23`, `12.3`, `1,235`.
CREATE OR REPLACE MACRO number_text(number) AS (
    CASE
        WHEN abs(number) >= 99.95 THEN format('{:,.0f}', number::DOUBLE)
        WHEN abs(number) >= 9.995 THEN format('{:.1f}', number::DOUBLE)
        WHEN abs(number) >= 0.9995 THEN format('{:.2f}', number::DOUBLE)
        ELSE format('{:.3g}', number::DOUBLE)
    END
);
