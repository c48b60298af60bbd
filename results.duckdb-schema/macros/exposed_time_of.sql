-- The part of communication that computation does not hide. It comes in equal pieces, of which computation makes one
-- after the other ready at equal distances: the last piece at least is left over, and what computation is too short
-- for. One piece: nothing overlaps. Infinitely many: everything does.
CREATE OR REPLACE MACRO exposed_time_of(communication, computation, pieces) AS (
    greatest(communication / pieces, communication - computation * (1 - 1 / pieces))
);
