-- One row: which definitions made this database. Another digest means: rebuild it from the files.
CREATE TABLE database_info (
    product VARCHAR,               -- scalebench
    schema_version INTEGER,        -- of the stored files; history in analysis/schema.py
    definitions VARCHAR            -- SHA-256 of all definitions in this folder
);
