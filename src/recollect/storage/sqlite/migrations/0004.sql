-- What the owner of a key may take, where it is not what the server lets everybody take.
ALTER TABLE keys ADD COLUMN rate REAL;
ALTER TABLE keys ADD COLUMN max_body INTEGER;
