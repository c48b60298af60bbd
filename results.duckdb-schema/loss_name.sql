-- The words for a term of efficiency_loss, as they stand in sentences.
CREATE OR REPLACE MACRO loss_name(term) AS (
    CASE term
        WHEN 'data' THEN 'waiting for data'
        WHEN 'imbalance' THEN 'imbalance between ranks'
        WHEN 'communication' THEN 'exposed communication'
        WHEN 'clocks' THEN 'lower clocks'
        WHEN 'work' THEN 'smaller work per worker'
        WHEN 'remainder' THEN 'what no other term explains'
    END
);
