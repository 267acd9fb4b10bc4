-- A holder may pause an application and resume it: while paused_at is set none of its tokens counts, and none is lost.
ALTER TABLE authorizations ADD COLUMN paused_at timestamptz;

CREATE OR REPLACE TRIGGER announce AFTER UPDATE ON authorizations FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at OR OLD.paused_at IS DISTINCT FROM NEW.paused_at)
  EXECUTE FUNCTION announce_change('authorization', 'id');

-- The partner that asked for it is told of a pause as of any other change; `paused` says which it is.
CREATE OR REPLACE FUNCTION publish_authorization() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  client clients;
  what text;
BEGIN
  SELECT * INTO client FROM clients WHERE id = NEW.client_id;
  what := CASE
    WHEN TG_OP = 'INSERT' THEN 'GRANTED'
    WHEN NEW.revoked_at IS NOT NULL THEN 'REVOKED'
    ELSE 'CHANGED' END;
  PERFORM publish_event(client.environment, client.branch_id, 'AUTHORIZATION', what, NEW.id::text, json_build_object(
    'authorizationId', NEW.id, 'clientId', NEW.client_id, 'userId', NEW.user_id, 'type', 'AUTHORIZATION', 'action', what,
    'branchId', client.branch_id, 'scope', array_to_string(ARRAY(
      SELECT scope FROM unnest(ARRAY['read', 'write', 'market', 'trade', 'stream']) WITH ORDINALITY AS known (scope, place)
      WHERE scope = ANY (NEW.scopes) ORDER BY place), ' '), 'reason', NEW.revoked_reason,
    'paused', NEW.paused_at IS NOT NULL)::text);
  RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER publish_changed AFTER UPDATE ON authorizations FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at OR OLD.scopes IS DISTINCT FROM NEW.scopes
        OR OLD.account_numbers IS DISTINCT FROM NEW.account_numbers OR OLD.paused_at IS DISTINCT FROM NEW.paused_at)
  EXECUTE FUNCTION publish_authorization();

-- How often an application used each scope, a row a day, for the person who decides whether to keep it.
CREATE TABLE authorization_uses (
  authorization_id bigint NOT NULL,
  day              date NOT NULL,
  scope            text NOT NULL CHECK (scope IN ('read', 'write', 'market', 'trade', 'stream')),
  uses             integer NOT NULL CHECK (uses > 0),
  last_used_at     timestamptz NOT NULL,
  PRIMARY KEY (authorization_id, day, scope)
);
CREATE INDEX authorization_uses_by_age ON authorization_uses (day);

-- A session that is confirmed gets a new id and a new row; this is when the browser first signed in. Null: at created_at.
ALTER TABLE sessions ADD COLUMN first_seen_at timestamptz;

-- What others did to a holder's account, without the renewals that applications make all day: the holder reads it.
CREATE INDEX audit_entries_about_holder ON audit_entries ((coalesce('user:' || (details ->> 'userId'), subject)), id)
  WHERE actor NOT LIKE 'user:%' AND action NOT IN ('code.exchanged', 'token.refreshed', 'token.rotated');
