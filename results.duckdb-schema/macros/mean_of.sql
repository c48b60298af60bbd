-- The mean of a list, null where it is empty; that of equal numbers is that number, which rounding must not change.
CREATE OR REPLACE MACRO mean_of(numbers) AS (
    CASE WHEN list_min(numbers) = list_max(numbers) THEN list_min(numbers) ELSE list_avg(numbers) END
);
