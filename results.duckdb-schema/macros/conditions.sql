-- `yes` if the condition is true, else `no`. DuckDB 2.0 stores a call of its function `if` in views and macros; clients
-- before 2.0, which have no such function, call this macro.
CREATE OR REPLACE MACRO "if"(condition, yes, no) AS (CASE WHEN condition THEN yes ELSE no END);
