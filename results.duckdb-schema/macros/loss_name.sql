-- The words for a term of efficiency_loss, as they stand in sentences.
CREATE OR REPLACE MACRO loss_name(term) AS (
    CASE term
        WHEN 'data' THEN 'waiting for data'
        WHEN 'imbalance' THEN 'waiting for slower ranks'
        WHEN 'communication' THEN 'exposed communication'
        WHEN 'clocks' THEN 'lower clocks'
        WHEN 'work' THEN 'less work per rank'
        WHEN 'remainder' THEN 'not explained'
    END
);
