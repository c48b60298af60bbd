-- The share as text, in percent: `43 %`, below a tenth `4.3 %`.
CREATE OR REPLACE MACRO percent_text(share) AS (
    format(if(abs(share) < 0.0995, '{:.1f} %', '{:.0f} %'), 100.0 * share)
);
