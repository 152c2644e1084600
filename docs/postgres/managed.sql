-- Once, as the administrator of a managed PostgreSQL (15 or newer), connected to the database that
-- recollect is to use. Replace the password. Afterwards recollect makes its tables itself.

CREATE EXTENSION IF NOT EXISTS vector;  -- pgvector 0.8 or newer; it may need to be allowed first

CREATE ROLE recollect LOGIN PASSWORD 'change me';
CREATE SCHEMA recollect AUTHORIZATION recollect;

-- Long enough for the largest recall and retain; a runaway statement ends by itself.
ALTER ROLE recollect SET statement_timeout = '60s';
ALTER ROLE recollect SET idle_in_transaction_session_timeout = '5min';

-- Only for recalls, where nobody may change anything:
--   CREATE ROLE recollect_reader LOGIN PASSWORD 'change me too';
--   GRANT USAGE ON SCHEMA recollect TO recollect_reader;
--   GRANT SELECT ON ALL TABLES IN SCHEMA recollect TO recollect_reader;
--   ALTER DEFAULT PRIVILEGES FOR ROLE recollect IN SCHEMA recollect
--     GRANT SELECT ON TABLES TO recollect_reader;
-- and then: recollect --db postgresql://recollect@… --read-dsn postgresql://recollect_reader@…
