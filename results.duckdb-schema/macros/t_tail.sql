-- The probability that Student's t with df degrees of freedom lies above |t|; right to a billionth of itself (a test
-- holds it). DuckDB has no distribution of t: its density from |t| on is summed at points doubly exponentially apart
-- (x = |t| + exp(pi / 2 sinh(s)), s = node / 16), which suits tails that fall like a power, as at df = 1, and as fast
-- as the normal one alike. One number per call.
CREATE OR REPLACE MACRO t_tail(t, df) AS (
    SELECT
        exp(lgamma((df + 1) / 2) - lgamma(df / 2)) / sqrt(df * pi()) / 16
        * sum(
            pi() / 2 * cosh(node / 16) * exp(pi() / 2 * sinh(node / 16))
            * (1 + (abs(t) + exp(pi() / 2 * sinh(node / 16))) ** 2 / df) ** (-(df + 1) / 2)
        )
    FROM range(-70, 71) AS nodes(node)
);
