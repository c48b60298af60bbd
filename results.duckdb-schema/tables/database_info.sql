-- One row: the definitions that made this database. If the digest differs, the database is rebuilt from the files.
CREATE TABLE database_info (
    product VARCHAR,               -- always scalebench
    schema_version INTEGER,        -- version of the stored files; history in bench/records/vocabulary.py
    definitions VARCHAR            -- SHA-256 of all definitions in this folder
);
