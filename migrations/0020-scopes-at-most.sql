-- The brokerage sets the most that a client may ask for; the partner chooses within it. Whoever registers a client without a word
-- about the most means what it registers.
ALTER TABLE clients ADD COLUMN scopes_at_most text[];

CREATE FUNCTION fill_scopes_at_most() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.scopes_at_most := coalesce(NEW.scopes_at_most, NEW.scopes);
  RETURN NEW;
END $$;
CREATE TRIGGER fill_scopes_at_most BEFORE INSERT ON clients FOR EACH ROW EXECUTE FUNCTION fill_scopes_at_most();
UPDATE clients SET scopes_at_most = scopes;
ALTER TABLE clients ADD CONSTRAINT clients_scopes_within_most CHECK (
  scopes_at_most IS NOT NULL AND scopes <@ scopes_at_most
  AND scopes_at_most <@ ARRAY['read', 'write', 'market', 'trade', 'stream']) NOT VALID;

-- A partner asks for more; whoever sets the most answers, by whatever means. What was granted of it is empty when it was declined.
CREATE TABLE scope_requests (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  client_id   text NOT NULL REFERENCES clients,
  scopes      text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write', 'market', 'trade', 'stream'] AND cardinality(scopes) > 0),
  reason      text NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000),
  asked_at    timestamptz NOT NULL,
  granted     text[] CHECK (granted <@ scopes),
  answered_at timestamptz,
  CHECK ((granted IS NULL) = (answered_at IS NULL))
);
CREATE UNIQUE INDEX scope_requests_open ON scope_requests (client_id) WHERE answered_at IS NULL;
CREATE INDEX scope_requests_of_client ON scope_requests (client_id, id);
CREATE INDEX scope_requests_waiting ON scope_requests (asked_at, id) WHERE answered_at IS NULL;

CREATE FUNCTION answer_scope_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE scope_requests SET answered_at = NEW.updated_at,
    granted = ARRAY(SELECT scope FROM unnest(scopes) AS scope WHERE scope = ANY (NEW.scopes_at_most))
  WHERE client_id = NEW.id AND answered_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER answer_scope_request AFTER UPDATE OF scopes_at_most ON clients FOR EACH ROW
  EXECUTE FUNCTION answer_scope_request();

-- An authorization is what its owner approved last. Where several approvals were added up, the newest grant tells which was the last.
UPDATE authorizations a SET scopes = newest.scopes
FROM (SELECT DISTINCT ON (authorization_id) authorization_id, scopes FROM grants ORDER BY authorization_id, id DESC) newest
WHERE newest.authorization_id = a.id AND a.revoked_at IS NULL AND NOT a.scopes <@ newest.scopes;

-- What tokens reach depends on these too: nodes forget them when they change. Only statements that write these columns pay for it.
CREATE TRIGGER announce_reach AFTER UPDATE OF scopes, account_numbers ON authorizations FOR EACH ROW
  WHEN (OLD.scopes IS DISTINCT FROM NEW.scopes OR OLD.account_numbers IS DISTINCT FROM NEW.account_numbers)
  EXECUTE FUNCTION announce_change('authorization', 'id');
CREATE TRIGGER announce_reach AFTER UPDATE OF scopes, account_numbers ON grants FOR EACH ROW
  EXECUTE FUNCTION announce_change('grant', 'id');
CREATE TRIGGER announce_reach AFTER UPDATE OF scopes ON access_tokens FOR EACH ROW
  EXECUTE FUNCTION announce_change('access_token', 'id');

-- An account that changes hands concerns whoever held it as well as whoever holds it now.
CREATE FUNCTION announce_lost_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('countersign_changes', 'user:' || OLD.user_id);
  RETURN NULL;
END $$;
CREATE TRIGGER announce_lost AFTER UPDATE ON accounts FOR EACH ROW
  WHEN (OLD.user_id IS DISTINCT FROM NEW.user_id) EXECUTE FUNCTION announce_lost_account();
