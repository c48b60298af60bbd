-- The share as text with its interval, in percent: `43 % [38, 49]`; where an end is unknown, `43 %`.
CREATE OR REPLACE MACRO share_text(share, lo, hi) AS (
    percent_text(share) || coalesce(
        format(' [{}, {}]', replace(percent_text(lo), ' %', ''), replace(percent_text(hi), ' %', '')), ''
    )
);
