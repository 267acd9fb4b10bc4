-- What a token costs when it is made. Rows of tokens are made from their grant's own row, in one statement with it, and grants leave
-- after their tokens: a foreign key would only check again. Of parents, only those that exist need to be told apart.
ALTER TABLE access_tokens DROP CONSTRAINT access_tokens_grant_id_fkey;
DROP INDEX grants_without_exchange;
CREATE INDEX grants_by_code_expiry ON grants (code_expires_at);
ALTER TABLE grants SET (fillfactor = 80);
ALTER TABLE refresh_tokens
  DROP CONSTRAINT refresh_tokens_grant_id_fkey,
  DROP CONSTRAINT refresh_tokens_parent_id_fkey,
  DROP CONSTRAINT refresh_tokens_parent_id_key;
CREATE UNIQUE INDEX refresh_token_heirs ON refresh_tokens (parent_id) WHERE parent_id IS NOT NULL;

-- Numbers grow with time: what is old is found by the primary key.
DROP INDEX events_by_age, events_of_branch, attempts_by_age;

-- One look at the branches of a statement's events instead of one a row.
ALTER TABLE events DROP CONSTRAINT events_branch_id_fkey;
CREATE OR REPLACE FUNCTION note_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM (SELECT DISTINCT branch_id FROM added) told LEFT JOIN partners USING (branch_id) WHERE partners.branch_id IS NULL) THEN
    RAISE foreign_key_violation USING MESSAGE = 'An event names no branch.', CONSTRAINT = 'events_branch_id_fkey';
  END IF;
  INSERT INTO event_inbox SELECT id FROM added ORDER BY id;
  PERFORM pg_notify('countersign_work', 'event');
  RETURN NULL;
END $$;
