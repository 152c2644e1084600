-- Vectors of another model in the making: staged here, switched in when all are there.
CREATE TABLE staged (
    n        INTEGER PRIMARY KEY,
    embedder TEXT NOT NULL,
    vector   BLOB,
    tokens   BLOB
) STRICT;
