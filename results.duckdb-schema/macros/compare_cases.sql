-- One row per placement that both of two cases of a session ran, such as two settings that were measured in turn:
-- throughput of the candidate over that of the baseline. Its columns are those of `compare`.
CREATE OR REPLACE MACRO compare_cases(
    session, only_baseline_case, only_candidate_case, margin := 0.02, max_regression := 0.05
) AS TABLE
FROM compare_sides(
    session, only_baseline_case, session, only_candidate_case, margin := margin, max_regression := max_regression
);
