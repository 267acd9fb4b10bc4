-- === 0001-people-and-partners.sql
-- Account holders and operators, partners and their clients.

CREATE TABLE users (
  id            text PRIMARY KEY CHECK (id ~ '^id-[a-z0-9]{12}$'),
  username      text NOT NULL UNIQUE CHECK (username = lower(username) AND length(username) BETWEEN 1 AND 100),
  name          text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  password_hash text NOT NULL,
  role          text NOT NULL DEFAULT 'holder' CHECK (role IN ('holder', 'operator')),
  status        text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
  created_at    timestamptz NOT NULL,
  updated_at    timestamptz NOT NULL
);

CREATE TABLE accounts (
  account_number   text PRIMARY KEY CHECK (account_number ~ '^[A-Z0-9]{4,20}$'),
  user_id          text NOT NULL REFERENCES users,
  environment      text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  classification   text NOT NULL,
  date_created     timestamptz NOT NULL,
  day_trader       boolean NOT NULL DEFAULT false,
  option_level     smallint NOT NULL DEFAULT 1 CHECK (option_level BETWEEN 1 AND 6),
  status           text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'closed')),
  type             text NOT NULL CHECK (type IN ('cash', 'margin')),
  last_update_date timestamptz NOT NULL
);
CREATE INDEX accounts_of_user ON accounts (user_id, environment);

-- Only hashes of session ids are stored: a dump opens no session.
CREATE TABLE sessions (
  id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash             bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  user_id          text NOT NULL REFERENCES users,
  environment      text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  created_at       timestamptz NOT NULL,
  authenticated_at timestamptz NOT NULL,
  last_seen_at     timestamptz NOT NULL,
  address          text NOT NULL,
  user_agent       text NOT NULL
);
CREATE INDEX sessions_of_user ON sessions (user_id);
CREATE INDEX sessions_by_age ON sessions (created_at);

-- One row a bucket (a username, a known device, an address): how often sign-in failed and until when it must wait.
CREATE TABLE login_throttle (
  bucket        text PRIMARY KEY,
  failures      integer NOT NULL CHECK (failures > 0),
  started_at    timestamptz NOT NULL,
  blocked_until timestamptz,
  attempt       uuid NOT NULL
);

-- A personal API token belongs to the live environment, a sandbox token to the sandbox.
CREATE TABLE api_tokens (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id      text NOT NULL REFERENCES users,
  environment  text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  name         text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  hash         bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  hint         text NOT NULL,
  created_at   timestamptz NOT NULL,
  last_used_at timestamptz,
  revoked_at   timestamptz
);
CREATE INDEX api_tokens_of_user ON api_tokens (user_id);

CREATE TABLE partners (
  branch_id      integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name           text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200),
  status         text NOT NULL CHECK (status IN ('applied', 'approved', 'suspended')),
  status_reason  text,
  refresh_access boolean NOT NULL DEFAULT false,
  created_at     timestamptz NOT NULL,
  updated_at     timestamptz NOT NULL
);

CREATE TABLE partner_members (
  branch_id integer NOT NULL REFERENCES partners,
  user_id   text NOT NULL REFERENCES users,
  added_at  timestamptz NOT NULL,
  PRIMARY KEY (branch_id, user_id)
);
CREATE INDEX partners_of_member ON partner_members (user_id);

CREATE TABLE clients (
  id                    text PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9]{24}$'),
  branch_id             integer NOT NULL REFERENCES partners,
  environment           text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  name                  text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  callback_url          text NOT NULL,
  scopes                text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write', 'market', 'trade', 'stream'] AND cardinality(scopes) > 0),
  status                text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  rotate_refresh_tokens boolean NOT NULL DEFAULT false,
  created_at            timestamptz NOT NULL,
  updated_at            timestamptz NOT NULL
);
CREATE INDEX clients_of_branch ON clients (branch_id);

-- At most two live secrets a client, one a slot. Sealed, because they sign webhooks; hashed, because they sign in.
CREATE TABLE client_secrets (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  client_id    text NOT NULL REFERENCES clients,
  slot         smallint NOT NULL CHECK (slot IN (1, 2)),
  hash         bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  sealed       bytea NOT NULL,
  hint         text NOT NULL,
  created_at   timestamptz NOT NULL,
  expires_at   timestamptz,
  last_used_at timestamptz,
  revoked_at   timestamptz
);
CREATE UNIQUE INDEX client_secret_slots ON client_secrets (client_id, slot) WHERE revoked_at IS NULL;

-- The brokerage's own systems, with a credential of their own.
CREATE TABLE services (
  id           text PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9]{24}$'),
  name         text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  environment  text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  hash         bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  created_at   timestamptz NOT NULL,
  revoked_at   timestamptz
);
-- === 0002-oauth.sql
-- What account holders approved, and the codes and tokens born of it. Tokens are stored as hashes only.

-- A user's standing approval of a client. Revoked ones stay as history; at most one a pair is alive.
CREATE TABLE authorizations (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id         text NOT NULL REFERENCES users,
  client_id       text NOT NULL REFERENCES clients,
  scopes          text[] NOT NULL CHECK (cardinality(scopes) > 0),
  account_numbers text[] NOT NULL,
  approved_at     timestamptz NOT NULL,
  updated_at      timestamptz NOT NULL,
  last_used_at    timestamptz,
  revoked_at      timestamptz,
  revoked_reason  text,
  CHECK ((revoked_at IS NULL) = (revoked_reason IS NULL))
);
CREATE UNIQUE INDEX living_authorization ON authorizations (user_id, client_id) WHERE revoked_at IS NULL;
CREATE INDEX authorizations_of_client ON authorizations (client_id);

-- One consent answered with yes. Its code can be traded once; every token that comes of it points here, so that
-- revoking the grant ends them all.
CREATE TABLE grants (
  id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  authorization_id bigint NOT NULL REFERENCES authorizations,
  client_id        text NOT NULL REFERENCES clients,
  user_id          text NOT NULL REFERENCES users,
  scopes           text[] NOT NULL CHECK (cardinality(scopes) > 0),
  account_numbers  text[] NOT NULL,
  callback_url     text NOT NULL,
  code_challenge   text,
  code_hash        bytea NOT NULL UNIQUE CHECK (length(code_hash) = 32),
  code_expires_at  timestamptz NOT NULL,
  approved_at      timestamptz NOT NULL,
  exchanged_at     timestamptz,
  revoked_at       timestamptz,
  revoked_reason   text,
  CHECK ((revoked_at IS NULL) = (revoked_reason IS NULL))
);
CREATE INDEX grants_of_authorization ON grants (authorization_id);
CREATE INDEX grants_without_exchange ON grants (code_expires_at) WHERE exchanged_at IS NULL;

-- An authorization request that was answered, with yes or no, cannot be answered again.
CREATE TABLE answered_requests (
  request_id  text PRIMARY KEY,
  answered_at timestamptz NOT NULL
);
CREATE INDEX answered_requests_by_age ON answered_requests (answered_at);

CREATE TABLE access_tokens (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash       bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  grant_id   bigint NOT NULL REFERENCES grants,
  scopes     text[] NOT NULL CHECK (cardinality(scopes) > 0),
  issued_at  timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz
);
CREATE INDEX access_tokens_of_grant ON access_tokens (grant_id);
CREATE INDEX access_tokens_by_expiry ON access_tokens (expires_at);

-- Without rotation a grant has one refresh token for life. With rotation each use replaces it; `replaced_at` and
-- the child's `parent_id` tell a forgivable repeat from a stolen token.
CREATE TABLE refresh_tokens (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash        bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  grant_id    bigint NOT NULL REFERENCES grants,
  parent_id   bigint UNIQUE REFERENCES refresh_tokens,
  issued_at   timestamptz NOT NULL,
  replaced_at timestamptz
);
CREATE INDEX refresh_tokens_of_grant ON refresh_tokens (grant_id);
-- === 0003-audit.sql
-- Who did what, when, from where. Entries are only ever added. Blocks chain them: each block's hash covers its
-- entries and the hash of the block before it, so that a changed or missing entry shows.

CREATE TABLE audit_entries (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at          timestamptz NOT NULL,
  actor       text NOT NULL,
  action      text NOT NULL,
  subject     text NOT NULL,
  environment text,
  address     text,
  request_id  text,
  details     jsonb NOT NULL
);
CREATE INDEX audit_entries_by_actor ON audit_entries (actor, id);
CREATE INDEX audit_entries_by_subject ON audit_entries (subject, id);

CREATE TABLE audit_blocks (
  position  bigint PRIMARY KEY CHECK (position > 0),
  entry_ids bigint[] NOT NULL CHECK (cardinality(entry_ids) > 0),
  hash      bytea NOT NULL CHECK (length(hash) = 32),
  sealed_at timestamptz NOT NULL
);

-- Entries that no block holds yet.
CREATE TABLE audit_unsealed (
  entry_id bigint PRIMARY KEY
);

CREATE FUNCTION audit_note_unsealed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO audit_unsealed SELECT id FROM added;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_note_unsealed AFTER INSERT ON audit_entries
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION audit_note_unsealed();

CREATE FUNCTION audit_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'The audit log is append-only.';
END $$;
CREATE TRIGGER audit_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entries
  FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();
CREATE TRIGGER audit_blocks_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_blocks
  FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();
-- === 0004-changes.sql
-- Tells every node what it may no longer believe. Triggers, not code: whoever writes, gateway, command line or a
-- person in psql, every node hears of it when the change commits.

CREATE FUNCTION announce_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('countersign_changes', TG_ARGV[0] || ':' || (to_jsonb(coalesce(NEW, OLD)) ->> TG_ARGV[1]));
  RETURN NULL;
END $$;

CREATE TRIGGER announce AFTER UPDATE ON access_tokens FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at) EXECUTE FUNCTION announce_change('access_token', 'id');
CREATE TRIGGER announce AFTER UPDATE ON grants FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at) EXECUTE FUNCTION announce_change('grant', 'id');
CREATE TRIGGER announce AFTER UPDATE ON authorizations FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at) EXECUTE FUNCTION announce_change('authorization', 'id');
CREATE TRIGGER announce AFTER UPDATE ON api_tokens FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at) EXECUTE FUNCTION announce_change('api_token', 'id');
CREATE TRIGGER announce AFTER UPDATE ON clients FOR EACH ROW EXECUTE FUNCTION announce_change('client', 'id');
CREATE TRIGGER announce AFTER INSERT OR DELETE ON client_secrets FOR EACH ROW
  EXECUTE FUNCTION announce_change('client', 'client_id');
CREATE TRIGGER announce_end AFTER UPDATE ON client_secrets FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at OR OLD.expires_at IS DISTINCT FROM NEW.expires_at)
  EXECUTE FUNCTION announce_change('client', 'client_id');
CREATE TRIGGER announce AFTER UPDATE ON partners FOR EACH ROW EXECUTE FUNCTION announce_change('branch', 'branch_id');
CREATE TRIGGER announce AFTER UPDATE ON users FOR EACH ROW
  WHEN (OLD.status IS DISTINCT FROM NEW.status OR OLD.name IS DISTINCT FROM NEW.name)
  EXECUTE FUNCTION announce_change('user', 'id');
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON accounts FOR EACH ROW
  EXECUTE FUNCTION announce_change('user', 'user_id');
CREATE TRIGGER announce AFTER UPDATE OR DELETE ON services FOR EACH ROW EXECUTE FUNCTION announce_change('service', 'id');
-- === 0005-webhooks.sql
-- Registered URLs, the events that happened, and the delivery of each event to each URL.
-- docs/delivery.md draws the states; the CHECK constraints here and the types in src/webhooks agree with it.

CREATE TABLE webhooks (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  branch_id       integer NOT NULL REFERENCES partners,
  environment     text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  client_id       text REFERENCES clients,
  url             text NOT NULL CHECK (length(url) <= 2000),
  kinds           text[] NOT NULL CHECK (kinds <@ ARRAY['TRANSACTION', 'APPLICATION', 'ACH_PROFILE', 'AUTHORIZATION'] AND cardinality(kinds) > 0),
  state           text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'disabled', 'deleted')),
  disabled_reason text,
  created_at      timestamptz NOT NULL,
  updated_at      timestamptz NOT NULL,
  CHECK ((state = 'disabled') = (disabled_reason IS NOT NULL))
);
CREATE INDEX webhooks_of_branch ON webhooks (branch_id, environment, id) WHERE state <> 'deleted';

-- Custom secrets. The one that began to sign last signs x-webhook-signature; every one that has not ended is in webhook-signature.
CREATE TABLE webhook_secrets (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  webhook_id bigint NOT NULL REFERENCES webhooks,
  sealed     bytea NOT NULL,
  signs_from timestamptz NOT NULL,
  ends_at    timestamptz,
  created_at timestamptz NOT NULL
);
CREATE INDEX secrets_of_webhook ON webhook_secrets (webhook_id);

-- One row a webhook: when somebody has to look at it, and who is looking. While a worker holds the lane, `attention_at` is
-- when its lease ends, so that one index answers "which lanes need somebody" for idle and orphaned lanes alike.
CREATE TABLE lanes (
  webhook_id      bigint PRIMARY KEY REFERENCES webhooks,
  attention_at    timestamptz,
  claim_id        uuid,
  -- New deliveries came while the lane was held: its holder looks again before it lets go.
  has_news        boolean NOT NULL DEFAULT false,
  -- Failures in a row; from five on the breaker is open and one attempt at a time probes.
  failures        integer NOT NULL DEFAULT 0,
  failing_since   timestamptz,
  CHECK (claim_id IS NULL OR attention_at IS NOT NULL),
  CHECK ((failures = 0) = (failing_since IS NULL))
) WITH (fillfactor = 50);
CREATE INDEX lanes_by_attention ON lanes (attention_at) WHERE attention_at IS NOT NULL;

CREATE TABLE events (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  uid         uuid NOT NULL DEFAULT gen_random_uuid(),
  environment text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  branch_id   integer NOT NULL REFERENCES partners,
  kind        text NOT NULL CHECK (kind IN ('TRANSACTION', 'APPLICATION', 'ACH_PROFILE', 'AUTHORIZATION')),
  action      text NOT NULL,
  entity      text NOT NULL,
  body        text NOT NULL,
  -- A test hook goes to every registered URL, whatever kinds it subscribes to.
  simulated   boolean NOT NULL DEFAULT false,
  created_at  timestamptz NOT NULL
);
CREATE INDEX events_by_age ON events (created_at);
CREATE INDEX events_of_branch ON events (branch_id, environment, created_at);

-- Events that have not been given their place in the branch's sequence and their deliveries yet.
CREATE TABLE event_inbox (
  event_id bigint PRIMARY KEY
);

-- The gap-free sequence of each branch.
CREATE TABLE branch_sequences (
  branch_id   integer NOT NULL REFERENCES partners,
  environment text NOT NULL,
  last        bigint NOT NULL,
  PRIMARY KEY (branch_id, environment)
);
CREATE TABLE branch_log (
  branch_id   integer NOT NULL,
  environment text NOT NULL,
  sequence    bigint NOT NULL,
  event_id    bigint NOT NULL,
  PRIMARY KEY (branch_id, environment, sequence)
);
CREATE INDEX branch_log_of_event ON branch_log (event_id);

-- Without foreign keys: rows are made from events and webhooks by one statement, and a check a row would cost as much again.
CREATE TABLE deliveries (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  webhook_id bigint NOT NULL,
  event_id   bigint NOT NULL,
  entity     text NOT NULL,
  state      text NOT NULL CHECK (state IN ('blocked', 'waiting', 'delivered', 'exhausted', 'canceled')),
  -- The delivery of the same entity's earlier event, which has to settle first.
  after_id   bigint,
  due_at     timestamptz NOT NULL,
  -- All attempts ever made, and those since the delivery was last set going: a redelivery starts the schedule anew.
  attempts   integer NOT NULL DEFAULT 0,
  tries      integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  settled_at timestamptz,
  CHECK ((state = 'blocked') = (after_id IS NOT NULL)),
  CHECK ((state IN ('delivered', 'exhausted', 'canceled')) = (settled_at IS NOT NULL))
);
CREATE INDEX deliveries_waiting ON deliveries (webhook_id, due_at, id) WHERE state = 'waiting';
CREATE INDEX deliveries_unfinished ON deliveries (webhook_id, entity, id) WHERE state IN ('blocked', 'waiting');
CREATE INDEX deliveries_behind ON deliveries (after_id) WHERE state = 'blocked';
CREATE INDEX deliveries_of_webhook ON deliveries (webhook_id, id);
CREATE INDEX deliveries_of_event ON deliveries (event_id);

CREATE TABLE attempts (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  delivery_id   bigint NOT NULL,
  number        integer NOT NULL,
  at            timestamptz NOT NULL,
  duration_ms   integer NOT NULL,
  outcome       text NOT NULL CHECK (outcome IN ('accepted', 'refused', 'unreachable')),
  status        integer,
  why           text,
  response      text,
  CHECK ((outcome = 'unreachable') = (status IS NULL))
);
CREATE INDEX attempts_of_delivery ON attempts (delivery_id, number);
CREATE INDEX attempts_by_age ON attempts (at);

-- Replaying is long work: a job that survives restarts and shows how far it is.
CREATE TABLE replays (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  webhook_id  bigint NOT NULL REFERENCES webhooks,
  selection   jsonb NOT NULL,
  state       text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'finished', 'canceled')),
  total       integer NOT NULL,
  done        integer NOT NULL DEFAULT 0,
  last_id     bigint NOT NULL DEFAULT 0,
  until_id    bigint NOT NULL,
  created_at  timestamptz NOT NULL,
  finished_at timestamptz,
  CHECK ((state = 'running') = (finished_at IS NULL))
);
CREATE INDEX replays_running ON replays (id) WHERE state = 'running';
CREATE INDEX replays_of_webhook ON replays (webhook_id, id);

-- A publisher that did not hear the answer asks again with the same key and gets the same answer.
CREATE TABLE idempotency_keys (
  owner        text NOT NULL,
  key          text NOT NULL CHECK (length(key) BETWEEN 1 AND 200),
  request_hash bytea NOT NULL,
  event_uids   uuid[] NOT NULL,
  created_at   timestamptz NOT NULL,
  PRIMARY KEY (owner, key)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

CREATE FUNCTION note_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO event_inbox SELECT id FROM added ORDER BY id;
  PERFORM pg_notify('countersign_work', 'event');
  RETURN NULL;
END $$;
CREATE TRIGGER note_event AFTER INSERT ON events
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION note_event();

-- For the brokerage's own transactions in the same PostgreSQL: the event commits or vanishes with them.
--   SELECT publish_event('live', 7, 'TRANSACTION', 'COMPLETED', '42', '{"transactionId": 42, …}');
CREATE FUNCTION publish_event(environment text, branch_id integer, kind text, action text, entity_id text, body text)
RETURNS uuid LANGUAGE sql AS $$
  INSERT INTO events (environment, branch_id, kind, action, entity, body, created_at)
  SELECT $1, $2, $3, $4, lower($3) || ':' || $5, (($6)::json)::text, clock_timestamp()
  RETURNING uid
$$;

-- A partner that asks for it learns at once what account holders grant, change and revoke.
CREATE FUNCTION publish_authorization() RETURNS trigger LANGUAGE plpgsql AS $$
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
      WHERE scope = ANY (NEW.scopes) ORDER BY place), ' '), 'reason', NEW.revoked_reason)::text);
  RETURN NULL;
END $$;
CREATE TRIGGER publish_granted AFTER INSERT ON authorizations FOR EACH ROW EXECUTE FUNCTION publish_authorization();
CREATE TRIGGER publish_changed AFTER UPDATE ON authorizations FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at OR OLD.scopes IS DISTINCT FROM NEW.scopes
        OR OLD.account_numbers IS DISTINCT FROM NEW.account_numbers)
  EXECUTE FUNCTION publish_authorization();

CREATE TRIGGER announce AFTER UPDATE ON webhooks FOR EACH ROW EXECUTE FUNCTION announce_change('webhook', 'id');
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON webhook_secrets FOR EACH ROW
  EXECUTE FUNCTION announce_change('webhook', 'webhook_id');
-- === 0006-lighter-writes.sql
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
-- === 0007-exhausted.sql
-- What was given up is what people look for.
CREATE INDEX deliveries_exhausted ON deliveries (webhook_id, id) WHERE state = 'exhausted';
-- === 0008-traces.sql
-- The span under which an event was published, as W3C prints it, so that its deliveries belong to the same trace, whichever node
-- makes them and however late. Null where nobody traces.
ALTER TABLE events ADD COLUMN traceparent text;
-- === 0009-vacuum.sql
-- Rows that change often are cleaned up often, whatever the size of their table: by default a table of ten million rows keeps two million
-- dead ones, and every look at it passes them by. What holds little and changes all the time is cleaned after a thousand.
ALTER TABLE deliveries SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
ALTER TABLE grants SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
ALTER TABLE lanes SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE event_inbox SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE branch_sequences SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE audit_unsealed SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
-- === 0010-pause-and-activity.sql
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
-- === 0011-second-factor.sql
-- A second proof at sign-in. Nodes of the release before ask for the password alone until they are replaced.

-- The secret of an authenticator app, sealed. `last_step` is the newest code that was used: none counts twice, or after a newer one.
CREATE TABLE totp_factors (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id      text NOT NULL UNIQUE REFERENCES users,
  sealed       bytea NOT NULL,
  last_step    bigint NOT NULL,
  created_at   timestamptz NOT NULL,
  last_used_at timestamptz
);

-- For a lost phone. Each has 79 random bits and counts once; only hashes are stored.
CREATE TABLE recovery_codes (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id    text NOT NULL REFERENCES users,
  hash       bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  created_at timestamptz NOT NULL,
  used_at    timestamptz
);
CREATE INDEX recovery_codes_of_user ON recovery_codes (user_id);

-- When the second proof of this session was given; null when the password was all.
ALTER TABLE sessions ADD COLUMN strong_at timestamptz;
-- === 0012-passkeys.sql
-- Passkeys (WebAuthn) as a second factor. Each belongs to the site it was made on: browsers bind it to the site's name.
CREATE TABLE passkeys (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id       text NOT NULL REFERENCES users,
  environment   text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  credential_id text NOT NULL UNIQUE CHECK (length(credential_id) BETWEEN 1 AND 1400),
  public_key    bytea NOT NULL,
  counter       bigint NOT NULL,
  transports    text[] NOT NULL,
  name          text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  created_at    timestamptz NOT NULL,
  last_used_at  timestamptz
);
CREATE INDEX passkeys_of_user ON passkeys (user_id);

-- Challenges that were answered: none can be answered again while it would still be believed.
CREATE TABLE spent_challenges (
  challenge text PRIMARY KEY,
  spent_at  timestamptz NOT NULL
);
CREATE INDEX spent_challenges_by_age ON spent_challenges (spent_at);
-- === 0013-partner-applications.sql
-- What somebody said of themselves when they applied as a partner, for whoever decides.
CREATE TABLE partner_applications (
  branch_id    integer PRIMARY KEY REFERENCES partners,
  applicant_id text NOT NULL REFERENCES users,
  website      text NOT NULL CHECK (length(website) <= 300),
  contact      text NOT NULL CHECK (length(contact) <= 320),
  purpose      text NOT NULL CHECK (length(purpose) <= 2000),
  created_at   timestamptz NOT NULL
);
CREATE INDEX applications_of_user ON partner_applications (applicant_id);

-- Forms that make something new carry a number of their own: sent twice, they count once, on whichever node they arrive.
CREATE TABLE submissions (
  id         text PRIMARY KEY CHECK (length(id) <= 43),
  created_at timestamptz NOT NULL
);
CREATE INDEX submissions_by_age ON submissions (created_at);
-- === 0014-members-and-refresh.sql
-- Whom a partner invites becomes a member by accepting: nobody is made one unasked. By name, whether or not there is such a user.
CREATE TABLE member_invitations (
  branch_id  integer NOT NULL REFERENCES partners,
  username   text NOT NULL CHECK (length(username) BETWEEN 1 AND 100),
  invited_at timestamptz NOT NULL,
  PRIMARY KEY (branch_id, username)
);
CREATE INDEX invitations_of_username ON member_invitations (username);

-- A partner asks for refresh access; whoever grants or withdraws it answers, by whatever means.
CREATE TABLE refresh_requests (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  branch_id   integer NOT NULL REFERENCES partners,
  reason      text NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000),
  asked_at    timestamptz NOT NULL,
  granted     boolean,
  answered_at timestamptz,
  CHECK ((granted IS NULL) = (answered_at IS NULL))
);
CREATE UNIQUE INDEX refresh_requests_open ON refresh_requests (branch_id) WHERE answered_at IS NULL;
CREATE INDEX refresh_requests_of_branch ON refresh_requests (branch_id, id);

CREATE FUNCTION answer_refresh_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE refresh_requests SET granted = NEW.refresh_access, answered_at = NEW.updated_at
  WHERE branch_id = NEW.branch_id AND answered_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER answer_refresh_request AFTER UPDATE OF refresh_access ON partners FOR EACH ROW
  EXECUTE FUNCTION answer_refresh_request();
-- === 0015-refused-calls.sql
-- The last calls of each partner that were refused, and why. A ring: the newest hundred of a partner's own, and the newest hundred of
-- those that only claimed to be one of its clients, so that strangers cannot push out what the partner looks for.
CREATE TABLE refused_calls (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  branch_id   integer NOT NULL REFERENCES partners,
  environment text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  claimed     boolean NOT NULL,
  client_id   text,
  at          timestamptz NOT NULL,
  method      text NOT NULL,
  route       text NOT NULL,
  status      integer NOT NULL,
  code        text NOT NULL,
  description text NOT NULL,
  sent        text NOT NULL,
  request_id  text NOT NULL
);
CREATE INDEX refused_calls_of_branch ON refused_calls (branch_id, environment, claimed, id);
-- === 0016-finding-people.sql
-- Operators look for partners and users by the words of their names: `ada lo` finds Ada Lovelace.
CREATE FUNCTION name_words(name text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN to_tsvector('simple'::regconfig, regexp_replace(name, '[[:punct:]]+', ' ', 'g'));

CREATE INDEX partners_by_status ON partners (status, branch_id);
CREATE INDEX partners_by_name ON partners USING gin (name_words(name));
CREATE INDEX users_by_name ON users USING gin (name_words(name));
-- For pages and for beginnings of usernames, in an order that is the same in every installation.
CREATE INDEX users_in_order ON users (username COLLATE "C");
CREATE INDEX active_operators ON users (id) WHERE role = 'operator' AND status = 'active';

-- What one user, an operator, did to the account of another: the holder reads it beside what the gateway did.
CREATE INDEX audit_entries_about_holder_by_user ON audit_entries ((coalesce('user:' || (details ->> 'userId'), subject)), id)
  WHERE actor LIKE 'user:%' AND actor <> coalesce('user:' || (details ->> 'userId'), subject)
    AND action NOT LIKE 'partner.%' AND coalesce('user:' || (details ->> 'userId'), subject) LIKE 'user:%';
-- === 0017-notices.sql
-- What people are told by e-mail. A notice is written in the transaction of what it tells of; a worker sends it afterwards.

-- Where to, or nowhere; and which of the kinds that may be declined they decline.
ALTER TABLE users ADD COLUMN email text CHECK (length(email) BETWEEN 3 AND 254);
ALTER TABLE users ADD COLUMN declined_notices text[] NOT NULL DEFAULT '{}';

-- `email` is the address at that moment: who changes it afterwards does not divert what was written before. `key` names what is told:
-- the same is told once. While a worker has it in hand, `due_at` is when its lease ends.
CREATE TABLE notices (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id    text NOT NULL REFERENCES users,
  email      text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
  kind       text NOT NULL CHECK (kind IN ('sign-in', 'application', 'address', 'webhook-failing', 'webhook-disabled', 'secret-expiring')),
  key        text NOT NULL UNIQUE CHECK (length(key) <= 200),
  facts      jsonb NOT NULL,
  state      text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'given up')),
  attempts   integer NOT NULL DEFAULT 0,
  due_at     timestamptz NOT NULL,
  claim_id   uuid,
  error      text CHECK (length(error) <= 300),
  created_at timestamptz NOT NULL,
  settled_at timestamptz,
  CHECK ((state = 'waiting') = (settled_at IS NULL)),
  CHECK (state = 'waiting' OR claim_id IS NULL)
);
CREATE INDEX notices_due ON notices (due_at, id) WHERE state = 'waiting';
CREATE INDEX notices_of_user ON notices (user_id, kind, created_at);
CREATE INDEX notices_by_age ON notices (settled_at) WHERE state <> 'waiting';

-- What is looked for once a minute.
CREATE INDEX lanes_failing ON lanes (failing_since) WHERE failing_since IS NOT NULL;
CREATE INDEX client_secrets_ending ON client_secrets (expires_at) WHERE revoked_at IS NULL AND expires_at IS NOT NULL;
-- === 0018-stopped-is-stopped.sql
-- The webhooks of a partner that is not approved stand still, whoever says so: gateway, command line or a person in psql. Idle lanes
-- are not looked at; held ones have news, so that whoever lets them go looks again. An approval begins anew, as resuming a webhook
-- does: time in which nothing could be sent is no time of failure. Those of paused webhooks too, which may be resumed just now:
-- whoever looks at one in vain puts it to rest.
CREATE FUNCTION hold_or_release_lanes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  approved boolean := NEW.status = 'approved';
BEGIN
  -- In the order in which everybody locks lanes.
  PERFORM FROM lanes WHERE webhook_id = ANY (ARRAY(SELECT id FROM webhooks WHERE branch_id = NEW.branch_id AND state <> 'deleted'))
  ORDER BY webhook_id FOR UPDATE;
  UPDATE lanes SET
    attention_at = CASE WHEN claim_id IS NOT NULL THEN attention_at WHEN approved THEN NEW.updated_at END,
    has_news = claim_id IS NOT NULL,
    failures = CASE WHEN approved THEN 0 ELSE failures END,
    failing_since = CASE WHEN approved THEN NULL ELSE failing_since END
  WHERE webhook_id = ANY (ARRAY(SELECT id FROM webhooks WHERE branch_id = NEW.branch_id AND state <> 'deleted'));
  PERFORM pg_notify('countersign_work', 'delivery');
  RETURN NULL;
END $$;
CREATE TRIGGER hold_or_release_lanes AFTER UPDATE ON partners FOR EACH ROW
  WHEN ((OLD.status = 'approved') <> (NEW.status = 'approved')) EXECUTE FUNCTION hold_or_release_lanes();

-- What else long answers depend on: who belongs to a partner, which token and which sign-in there still is.
CREATE TRIGGER announce AFTER INSERT OR DELETE ON partner_members FOR EACH ROW EXECUTE FUNCTION announce_change('user', 'user_id');
CREATE TRIGGER announce_end AFTER DELETE ON api_tokens FOR EACH ROW EXECUTE FUNCTION announce_change('api_token', 'id');
CREATE TRIGGER announce_end AFTER DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION announce_change('session', 'id');
CREATE OR REPLACE TRIGGER announce AFTER UPDATE ON users FOR EACH ROW
  WHEN (OLD.status IS DISTINCT FROM NEW.status OR OLD.name IS DISTINCT FROM NEW.name OR OLD.role IS DISTINCT FROM NEW.role)
  EXECUTE FUNCTION announce_change('user', 'id');
-- === 0019-wrong-codes.sql
-- Guesses at the second step of a sign-in. A node of the release before counts none of them.

-- Codes that were wrong since one was right. A factor that is locked takes no code until its owner comes back with a recovery code.
ALTER TABLE totp_factors ADD COLUMN wrong_in_a_row integer NOT NULL DEFAULT 0 CHECK (wrong_in_a_row >= 0);
ALTER TABLE totp_factors ADD COLUMN locked_at timestamptz;

-- How often each user failed at the second step, ever: half a sign-in remembers the number it began with. Whoever takes the step holds
-- the row meanwhile, so that guesses at one user are judged one after the other, on whichever node they arrive.
CREATE TABLE second_step_failures (
  user_id  text PRIMARY KEY REFERENCES users,
  failures bigint NOT NULL DEFAULT 0 CHECK (failures >= 0)
);
-- === 0020-scopes-at-most.sql
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
-- === 0021-identity-and-anchors.sql
-- Of the refused calls that are kept, each caller has a share: the client that proved itself, or the address of who only claimed to be one.
ALTER TABLE refused_calls ADD COLUMN caller text NOT NULL DEFAULT '';

-- No username has the shape of an id, and no partner's name that of a branch id: a word names one of them at most. Who is called so
-- gets another name, and an entry in the log of acts tells which.
CREATE TEMPORARY TABLE renamed_users ON COMMIT DROP AS
  SELECT id, username AS old_name,
    CASE WHEN EXISTS (SELECT FROM users other WHERE other.username = 'user.' || u.username) THEN 'user.' || u.username || '.' || u.id
      ELSE 'user.' || u.username END AS new_name
  FROM users u WHERE username ~ '^id-[a-z0-9]{12}$';
UPDATE users SET username = new_name, updated_at = now() FROM renamed_users r WHERE users.id = r.id;
UPDATE member_invitations SET username = new_name FROM renamed_users r WHERE username = old_name
  AND NOT EXISTS (SELECT FROM member_invitations i WHERE i.branch_id = member_invitations.branch_id AND i.username = r.new_name);
INSERT INTO audit_entries (at, actor, action, subject, details)
  SELECT now(), 'gateway', 'user.renamed', 'user:' || id, jsonb_build_object('from', old_name, 'to', new_name) FROM renamed_users;
ALTER TABLE users ADD CONSTRAINT users_username_is_no_id CHECK (username !~ '^id-[a-z0-9]{12}$') NOT VALID;
ALTER TABLE users VALIDATE CONSTRAINT users_username_is_no_id;

CREATE TEMPORARY TABLE renamed_partners ON COMMIT DROP AS
  SELECT branch_id, name AS old_name, 'Partner ' || name || ' (branch ' || branch_id || ')' AS new_name FROM partners WHERE name ~ '^\d+$';
UPDATE partners SET name = new_name, updated_at = now() FROM renamed_partners r WHERE partners.branch_id = r.branch_id;
INSERT INTO audit_entries (at, actor, action, subject, details)
  SELECT now(), 'gateway', 'partner.renamed', 'branch:' || branch_id, jsonb_build_object('from', old_name, 'to', new_name)
  FROM renamed_partners;
ALTER TABLE partners ADD CONSTRAINT partners_name_is_no_id CHECK (name !~ '^\d+$') NOT VALID;
ALTER TABLE partners VALIDATE CONSTRAINT partners_name_is_no_id;

-- The key that signs the heads of the audit log which are written down outside; sealed.
CREATE TABLE audit_anchor_keys (
  id     integer PRIMARY KEY CHECK (id = 1),
  sealed bytea NOT NULL
);
-- === 0022-takeover-and-marks.sql
-- Where what a form made is shown, for whoever sends the form again. Without one: made by a node of the release before.
ALTER TABLE submissions ADD COLUMN leads_to text CHECK (leads_to LIKE '/%' AND length(leads_to) <= 300);

-- What would hand an account to somebody else is told.
ALTER TABLE notices DROP CONSTRAINT notices_kind_check;
ALTER TABLE notices ADD CONSTRAINT notices_kind_check CHECK (kind IN (
  'sign-in', 'application', 'address', 'password', 'second-factor', 'recovery-codes', 'api-token',
  'webhook-failing', 'webhook-disabled', 'secret-expiring')) NOT VALID;
ALTER TABLE notices VALIDATE CONSTRAINT notices_kind_check;

-- Addresses that were replaced or removed: for a while they are told too, because whoever takes an account over changes its address first.
CREATE TABLE former_emails (
  user_id     text NOT NULL REFERENCES users,
  email       text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
  replaced_at timestamptz NOT NULL,
  PRIMARY KEY (user_id, email)
);
CREATE INDEX former_emails_by_age ON former_emails (replaced_at);
-- === 0023-delivery-engine.sql
-- The delivery engine for years. What is unfinished lives in one small table; what is finished only grows, a partition a day, and
-- leaves by dropping days. docs/decisions/0020 says why; docs/delivery.md draws the states.

-- An id carries its day: 2611150000000042 is the 42nd number of 15 November 2026. Numbers never go back: each day has an offset that is
-- added to the next number of the sequence, so that the ids of a day begin at its date and keep growing whatever the clock does.
CREATE SEQUENCE event_numbers;
CREATE SEQUENCE delivery_numbers;
CREATE TABLE days (
  day             integer PRIMARY KEY,
  event_offset    bigint NOT NULL,
  delivery_offset bigint NOT NULL
);

ALTER TABLE events ALTER COLUMN id DROP IDENTITY;
ALTER TABLE deliveries ALTER COLUMN id DROP IDENTITY;
DROP TRIGGER note_event ON events;
DROP FUNCTION note_event();

-- What was there before days were counted belongs to day 0: everything below the first day's ids.
ALTER TABLE events RENAME TO events_d0;
ALTER INDEX events_pkey RENAME TO events_d0_pkey;
CREATE TABLE events (LIKE events_d0 INCLUDING DEFAULTS INCLUDING CONSTRAINTS, PRIMARY KEY (id)) PARTITION BY RANGE (id);
ALTER TABLE events ATTACH PARTITION events_d0 FOR VALUES FROM (MINVALUE) TO (10000000000);

-- The last number of each branch is the newest row of its log: no row changes with every event, so that none drags a tail of dead
-- versions behind it while somebody reads a long report.
ALTER TABLE branch_log RENAME TO branch_log_d0;
ALTER TABLE branch_log_d0 DROP CONSTRAINT branch_log_pkey;
DROP INDEX branch_log_of_event;
ALTER TABLE branch_log_d0
  ADD COLUMN day integer NOT NULL DEFAULT 0,
  -- How many deliveries the event was given: what a check can hold against what is there. Null where nobody counted.
  ADD COLUMN deliveries integer,
  ADD CONSTRAINT branch_log_d0_pkey PRIMARY KEY (branch_id, environment, sequence, day);
CREATE TABLE branch_log (LIKE branch_log_d0 INCLUDING CONSTRAINTS, PRIMARY KEY (branch_id, environment, sequence, day)) PARTITION BY RANGE (day);
ALTER TABLE branch_log ATTACH PARTITION branch_log_d0 FOR VALUES FROM (MINVALUE) TO (1);

-- On which day which numbers of a branch were given; one row a branch and day on which something happened. `last` is filled in when the day is over.
CREATE TABLE branch_days (
  branch_id   integer NOT NULL,
  environment text NOT NULL,
  day         integer NOT NULL,
  first       bigint NOT NULL,
  last        bigint,
  PRIMARY KEY (branch_id, environment, day)
);
INSERT INTO branch_days (branch_id, environment, day, first, last)
SELECT branch_id, environment, 0, coalesce((
  SELECT min(sequence) FROM branch_log_d0 l WHERE l.branch_id = s.branch_id AND l.environment = s.environment), last + 1), last
FROM branch_sequences s;
DROP TABLE branch_sequences;

-- Work in hand. A delivery that waits for an earlier one of its entity is due at no time. Every index is whole: a statement that
-- reaches a row by its key cannot be led astray by one that was believed empty when somebody last counted.
CREATE TABLE queued_deliveries (
  id         bigint PRIMARY KEY,
  webhook_id bigint NOT NULL,
  event_id   bigint NOT NULL,
  entity     text NOT NULL,
  -- 0: what happens now; 1: what is sent again, which never goes before it.
  urgency    smallint NOT NULL CHECK (urgency IN (0, 1)),
  -- The delivery of the same entity's earlier event, which has to settle first.
  after_id   bigint,
  due_at     timestamptz NOT NULL,
  attempts   integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  -- The delivery that this one repeats.
  repeats    bigint,
  -- The replay that asked for it.
  replay_id  bigint,
  CHECK ((after_id IS NOT NULL) = (due_at = 'infinity'))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000);

-- What was left behind one that has settled waits for nothing: it goes out. The schedule of one that was set going again goes on where it was.
INSERT INTO queued_deliveries (id, webhook_id, event_id, entity, urgency, after_id, due_at, attempts, created_at)
SELECT d.id, d.webhook_id, d.event_id, d.entity, 0, earlier.id, CASE WHEN earlier.id IS NULL THEN d.due_at ELSE 'infinity' END, d.tries, d.created_at
FROM deliveries d LEFT JOIN deliveries earlier ON earlier.id = d.after_id AND earlier.state IN ('blocked', 'waiting')
WHERE d.state IN ('blocked', 'waiting');
UPDATE lanes SET attention_at = least(attention_at, now()) WHERE claim_id IS NULL AND webhook_id IN (
  SELECT d.webhook_id FROM deliveries d JOIN queued_deliveries q USING (id) WHERE d.state = 'blocked' AND q.after_id IS NULL);
DELETE FROM deliveries WHERE state IN ('blocked', 'waiting');
CREATE INDEX queued_by_due ON queued_deliveries (webhook_id, urgency, due_at, id);
CREATE INDEX queued_by_entity ON queued_deliveries (webhook_id, entity, urgency, id);
CREATE INDEX queued_of_webhook ON queued_deliveries (webhook_id, id);
CREATE INDEX queued_behind ON queued_deliveries (after_id) WHERE after_id IS NOT NULL;

ALTER TABLE deliveries RENAME TO settled_deliveries_d0;
DROP INDEX deliveries_waiting, deliveries_unfinished, deliveries_behind, deliveries_exhausted, deliveries_of_webhook, deliveries_of_event;
ALTER INDEX deliveries_pkey RENAME TO settled_deliveries_d0_pkey;
ALTER TABLE settled_deliveries_d0
  DROP CONSTRAINT deliveries_check,
  DROP CONSTRAINT deliveries_check1,
  DROP CONSTRAINT deliveries_state_check,
  DROP COLUMN after_id,
  DROP COLUMN due_at,
  DROP COLUMN tries,
  ADD COLUMN repeats bigint,
  ALTER COLUMN settled_at SET NOT NULL,
  ADD CONSTRAINT settled_deliveries_state_check CHECK (state IN ('delivered', 'exhausted', 'canceled', 'expired'));
CREATE TABLE settled_deliveries (LIKE settled_deliveries_d0 INCLUDING DEFAULTS INCLUDING CONSTRAINTS, PRIMARY KEY (id)) PARTITION BY RANGE (id);
ALTER TABLE settled_deliveries ATTACH PARTITION settled_deliveries_d0 FOR VALUES FROM (MINVALUE) TO (10000000000);
CREATE INDEX settled_of_webhook ON settled_deliveries (webhook_id, id);
CREATE INDEX settled_of_event ON settled_deliveries (event_id);
-- What was given up is what people look for.
CREATE INDEX settled_exhausted ON settled_deliveries (webhook_id, id) WHERE state = 'exhausted';

-- Both together, for whoever looks: a page, a search, a check. The engine itself writes to each.
CREATE VIEW unfinished_deliveries AS
  SELECT id, webhook_id, event_id, entity, CASE WHEN after_id IS NULL THEN 'waiting' ELSE 'blocked' END AS state,
    after_id, due_at, attempts, created_at, NULL::timestamptz AS settled_at, repeats
  FROM queued_deliveries;
CREATE VIEW deliveries AS
  SELECT id, webhook_id, event_id, entity, state, after_id, due_at, attempts, created_at, settled_at, repeats FROM unfinished_deliveries
  UNION ALL
  SELECT id, webhook_id, event_id, entity, state, NULL, NULL, attempts, created_at, settled_at, repeats
  FROM settled_deliveries;

-- By the day on which they were made, which may be later than that of their delivery.
ALTER TABLE attempts RENAME TO attempts_d0;
ALTER TABLE attempts_d0 DROP CONSTRAINT attempts_pkey, DROP COLUMN id, ADD COLUMN day integer NOT NULL DEFAULT 0;
ALTER INDEX attempts_of_delivery RENAME TO attempts_d0_of_delivery;
CREATE TABLE attempts (LIKE attempts_d0 INCLUDING CONSTRAINTS) PARTITION BY RANGE (day);
ALTER TABLE attempts ATTACH PARTITION attempts_d0 FOR VALUES FROM (MINVALUE) TO (1);
CREATE INDEX attempts_of_delivery ON attempts (delivery_id, number);

-- Makes the partitions of a day, once, beside whatever is going on. As the owner of the tables, which the gateway need not be.
CREATE FUNCTION open_day(wanted integer) RETURNS days LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  found days;
  first bigint := wanted::bigint * 10000000000;
  past bigint := (wanted::bigint + 1) * 10000000000;
  name text;
BEGIN
  SELECT * INTO found FROM days WHERE day = wanted;
  IF found.day IS NOT NULL THEN RETURN found; END IF;
  PERFORM pg_advisory_xact_lock(7267105);
  SELECT * INTO found FROM days WHERE day = wanted;
  IF found.day IS NOT NULL THEN RETURN found; END IF;
  FOREACH name IN ARRAY ARRAY['events', 'settled_deliveries'] LOOP
    EXECUTE format('CREATE TABLE IF NOT EXISTS %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES)', name || '_d' || wanted, name);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', name, name || '_d' || wanted, first, past);
  END LOOP;
  FOREACH name IN ARRAY ARRAY['branch_log', 'attempts'] LOOP
    EXECUTE format('CREATE TABLE IF NOT EXISTS %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES)', name || '_d' || wanted, name);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', name, name || '_d' || wanted, wanted, wanted + 1);
  END LOOP;
  INSERT INTO days VALUES (wanted, first - (SELECT last_value FROM event_numbers), first - (SELECT last_value FROM delivery_numbers))
  RETURNING * INTO found;
  RETURN found;
END $$;

-- The end of a day: its partition of one of these tables goes. A gateway that does not own them may do this and no other harm to them.
CREATE FUNCTION drop_day(whole text, old integer) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF whole NOT IN ('events', 'settled_deliveries', 'branch_log', 'attempts') OR whole IS NULL THEN
    RAISE invalid_parameter_value USING MESSAGE = 'drop_day: no table of days';
  END IF;
  EXECUTE format('DROP TABLE %I', whole || '_d' || old);
END $$;

-- Two digits of the year, month, day, by the time of Greenwich. Numbers of days after 1 January 2090 would not fit where numbers have 53 bits.
CREATE FUNCTION day_of(at timestamptz) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN at < '2000-01-01Z' THEN 0 WHEN at >= '2090-01-01Z' THEN 900101
    ELSE to_char(at AT TIME ZONE 'UTC', 'YYMMDD')::integer END $$;

-- What the dispatcher has to do: an event that happened, or one delivery that is to be sent again. Rows are read in the order of the
-- transactions that wrote them and cleared away later. `part` is one of sixteen, by branch: each has a dispatcher of its own.
CREATE TABLE inbox (
  part        smallint NOT NULL,
  xid         xid8 NOT NULL DEFAULT pg_current_xact_id(),
  id          bigint GENERATED ALWAYS AS IDENTITY,
  event_id    bigint NOT NULL,
  branch_id   integer NOT NULL,
  environment text NOT NULL,
  kind        text NOT NULL,
  entity      text NOT NULL,
  simulated   boolean NOT NULL,
  -- For one webhook alone: to be sent again.
  webhook_id  bigint,
  repeats     bigint,
  replay_id   bigint,
  PRIMARY KEY (part, xid, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- How far each part has been read: everything that `read` saw, and of what `target` sees everything up to (at_xid, at_id). A transaction that commits late is
-- named by `read` as under way, and looked for by its number. Rows are added, not changed: the newest counts.
CREATE TABLE inbox_reads (
  part   smallint NOT NULL,
  number bigint NOT NULL,
  read   pg_snapshot NOT NULL,
  target pg_snapshot,
  at_xid xid8,
  at_id  bigint,
  -- The day of the newest ids that this part has given. Ids never go back, whatever the clocks of nodes do around midnight.
  day    integer NOT NULL,
  PRIMARY KEY (part, number),
  CHECK ((target IS NULL) = (at_xid IS NULL AND at_id IS NULL))
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
INSERT INTO inbox_reads (part, number, read, day)
SELECT part, 0, format('%s:%s:', pg_snapshot_xmin(pg_current_snapshot()), pg_snapshot_xmin(pg_current_snapshot()))::pg_snapshot, 0
FROM generate_series(0, 15) AS part;

INSERT INTO inbox (part, event_id, branch_id, environment, kind, entity, simulated)
SELECT e.branch_id % 16, e.id, e.branch_id, e.environment, e.kind, e.entity, e.simulated
FROM event_inbox i JOIN events e ON e.id = i.event_id ORDER BY e.id;
DROP TABLE event_inbox;

ALTER TABLE lanes
  ADD COLUMN part smallint,
  -- Different entities whose first attempt failed since the last success; from five on the breaker is open.
  ADD COLUMN evidence integer NOT NULL DEFAULT 0,
  -- Nothing that waits is due before this: what lies earlier in the index is dead.
  ADD COLUMN due_from timestamptz NOT NULL DEFAULT '-infinity',
  -- The receiver wants to be left alone until then, whatever is published meanwhile.
  ADD COLUMN held_until timestamptz NOT NULL DEFAULT '-infinity',
  DROP CONSTRAINT lanes_check1;
UPDATE lanes l SET part = w.branch_id % 16, evidence = least(l.failures, 5) FROM webhooks w WHERE w.id = l.webhook_id;
ALTER TABLE lanes ALTER COLUMN part SET NOT NULL, ADD CHECK ((failures = 0) = (failing_since IS NULL)), ADD CHECK (evidence <= failures);

CREATE OR REPLACE FUNCTION hold_or_release_lanes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  approved boolean := NEW.status = 'approved';
BEGIN
  -- In the order in which everybody locks lanes.
  PERFORM FROM lanes WHERE webhook_id = ANY (ARRAY(SELECT id FROM webhooks WHERE branch_id = NEW.branch_id AND state <> 'deleted'))
  ORDER BY webhook_id FOR UPDATE;
  UPDATE lanes SET
    attention_at = CASE WHEN claim_id IS NOT NULL THEN attention_at WHEN approved THEN NEW.updated_at END,
    has_news = claim_id IS NOT NULL,
    failures = CASE WHEN approved THEN 0 ELSE failures END,
    failing_since = CASE WHEN approved THEN NULL ELSE failing_since END,
    evidence = CASE WHEN approved THEN 0 ELSE evidence END
  WHERE webhook_id = ANY (ARRAY(SELECT id FROM webhooks WHERE branch_id = NEW.branch_id AND state <> 'deleted'));
  PERFORM pg_notify('countersign_work', 'delivery');
  RETURN NULL;
END $$;

-- Deleted ones whose deliveries are still being cleared away.
ALTER TABLE webhooks ADD COLUMN cleared_at timestamptz, ADD CHECK (cleared_at IS NULL OR state = 'deleted');
UPDATE webhooks w SET cleared_at = updated_at WHERE state = 'deleted' AND NOT EXISTS (SELECT FROM queued_deliveries q WHERE q.webhook_id = w.id);
CREATE INDEX webhooks_to_clear ON webhooks (id) WHERE state = 'deleted' AND cleared_at IS NULL;

-- Who delivers: each worker says every second that it is there and how many lanes it holds, so that each takes its share.
CREATE TABLE workers (
  id      uuid PRIMARY KEY,
  seen_at timestamptz NOT NULL,
  lanes   integer NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- Stores an event and its entry in the inbox. For those below, which say who may.
CREATE FUNCTION store_event(environment text, branch_id integer, kind text, action text, entity_id text, body text)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz := clock_timestamp();
  today days := open_day(day_of(moment));
  entity text := lower($3) || ':' || $5;
  event events;
BEGIN
  INSERT INTO events (id, environment, branch_id, kind, action, entity, body, created_at)
  VALUES (today.event_offset + nextval('event_numbers'), $1, $2, $3, $4, entity, $6, moment) RETURNING * INTO event;
  INSERT INTO inbox (part, event_id, branch_id, environment, kind, entity, simulated) VALUES ($2 % 16, event.id, $2, $1, $3, entity, false);
  RETURN event.uid;
END $$;

-- What is wrong with an event that somebody would publish, in the words of the argument that is at fault; null when nothing is. The same as
-- src/webhooks/kind.ts asks of the interface: a test holds the two together.
CREATE FUNCTION event_fault(environment text, branch_id integer, kind text, action text, entity_id text, body text)
RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
  -- The first is the entity's id.
  names text[] := CASE kind
    WHEN 'TRANSACTION' THEN '{transactionId,clearingAccount,type,action,branchId,email,amount,direction}'
    WHEN 'APPLICATION' THEN '{applicationId,clearingAccount,type,action,branchId,email}'
    WHEN 'ACH_PROFILE' THEN '{profileId,clearingAccount,type,action,branchId}' END;
  actions text[] := CASE kind
    WHEN 'TRANSACTION' THEN '{SUBMITTED,APPROVED,COMPLETED}'
    WHEN 'APPLICATION' THEN '{SUBMITTED,PENDING,APPROVED,REJECTED,VERIFIED,COMPLETED,CANCELED,AUTHORIZED}'
    WHEN 'ACH_PROFILE' THEN '{SUBMITTED,PENDING,APPROVED,REJECTED,CANCELED,MICRODEPOSITS_POSTED}' END;
  given text[];
  fields jsonb;
  account jsonb;
BEGIN
  IF environment NOT IN ('live', 'sandbox') OR environment IS NULL THEN RETURN 'environment must be live or sandbox'; END IF;
  IF names IS NULL THEN RETURN 'kind must be TRANSACTION, APPLICATION or ACH_PROFILE'; END IF;
  IF action <> ALL (actions) OR action IS NULL THEN RETURN format('action must be one of %s', array_to_string(actions, ', ')); END IF;
  IF entity_id !~ '^[1-9][0-9]{0,15}$' OR entity_id IS NULL OR entity_id::bigint > 9007199254740991 THEN
    RETURN 'entity_id must be a whole number from 1 to 9007199254740991';
  END IF;
  IF NOT EXISTS (SELECT FROM partners p WHERE p.branch_id = $2) THEN RETURN format('branch_id names no branch: %s', $2); END IF;
  IF body IS NULL THEN RETURN 'body is missing'; END IF;
  IF octet_length(body) > 65536 THEN RETURN format('body is too long: %s bytes, at most 65536', octet_length(body)); END IF;
  BEGIN
    fields := body::jsonb;
  EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN format('body is not JSON that can be delivered: %s', SQLERRM);
  END;
  IF jsonb_typeof(fields) <> 'object' THEN RETURN 'body must be an object'; END IF;
  given := ARRAY(SELECT json_object_keys(body::json));
  IF NOT given @> names THEN
    RETURN format('body has no %s', (SELECT name FROM unnest(names) AS name WHERE name <> ALL (given) LIMIT 1));
  END IF;
  IF NOT given <@ names THEN
    RETURN format('body has %s, which is no field of %s', (SELECT left(name, 100) FROM unnest(given) AS name WHERE name <> ALL (names) LIMIT 1), kind);
  END IF;
  IF cardinality(given) > cardinality(names) THEN
    RETURN format('body has %s twice', (SELECT name FROM unnest(given) AS name GROUP BY name HAVING count(*) > 1 LIMIT 1));
  END IF;
  IF fields -> names[1] <> to_jsonb(entity_id::bigint) THEN RETURN format('body: %s must be entity_id', names[1]); END IF;
  IF fields -> 'type' <> to_jsonb(kind) THEN RETURN 'body: type must be kind'; END IF;
  IF fields -> 'action' <> to_jsonb(action) THEN RETURN 'body: action must be the action that is published'; END IF;
  IF fields -> 'branchId' <> to_jsonb(branch_id) THEN RETURN 'body: branchId must be branch_id'; END IF;
  account := fields -> 'clearingAccount';
  IF NOT (kind = 'APPLICATION' AND account = 'null') AND NOT (jsonb_typeof(account) = 'string'
    AND length(account #>> '{}') BETWEEN CASE kind WHEN 'APPLICATION' THEN 0 ELSE 1 END AND 100) THEN
    RETURN 'body: clearingAccount must be text of at most 100 characters';
  END IF;
  IF kind <> 'ACH_PROFILE' AND NOT (jsonb_typeof(fields -> 'email') = 'string' AND length(fields ->> 'email') <= 320
    AND fields ->> 'email' ~ '^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$') THEN
    RETURN 'body: email must be an e-mail address';
  END IF;
  IF kind = 'TRANSACTION' THEN
    IF jsonb_typeof(fields -> 'amount') <> 'number' OR fields -> 'amount' < '0' THEN RETURN 'body: amount must be a number, 0 or more'; END IF;
    IF fields -> 'direction' NOT IN ('"DEPOSIT"', '"WITHDRAWAL"') THEN RETURN 'body: direction must be DEPOSIT or WITHDRAWAL'; END IF;
  END IF;
  RETURN NULL;
END $$;

-- For the brokerage's own transactions in the same PostgreSQL: the event commits or vanishes with them.
--   SELECT publish_event('live', 7, 'TRANSACTION', 'COMPLETED', '42', '{"transactionId": 42, …}');
-- It runs with the rights of its owner, so that a publisher needs no others than to call it (docs/delivery.md has the GRANTs).
CREATE OR REPLACE FUNCTION publish_event(environment text, branch_id integer, kind text, action text, entity_id text, body text)
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  fault text := event_fault($1, $2, $3, $4, $5, $6);
BEGIN
  IF fault IS NOT NULL THEN RAISE invalid_parameter_value USING MESSAGE = 'publish_event: ' || fault; END IF;
  RETURN store_event($1, $2, $3, $4, $5, $6);
END $$;

-- What account holders approve is told by the gateway alone.
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
  PERFORM store_event(client.environment, client.branch_id, 'AUTHORIZATION', what, NEW.id::text, json_build_object(
    'authorizationId', NEW.id, 'clientId', NEW.client_id, 'userId', NEW.user_id, 'type', 'AUTHORIZATION', 'action', what,
    'branchId', client.branch_id, 'scope', array_to_string(ARRAY(
      SELECT scope FROM unnest(ARRAY['read', 'write', 'market', 'trade', 'stream']) WITH ORDINALITY AS known (scope, place)
      WHERE scope = ANY (NEW.scopes) ORDER BY place), ' '), 'reason', NEW.revoked_reason,
    'paused', NEW.paused_at IS NOT NULL)::text);
  RETURN NULL;
END $$;

-- The tables are those of this schema, whatever the caller has of the same name, a temporary one above all.
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['publish_event(text, integer, text, text, text, text)', 'publish_authorization()', 'open_day(integer)', 'drop_day(text, integer)'] LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', name, current_schema());
  END LOOP;
END $$;
REVOKE ALL ON FUNCTION publish_event(text, integer, text, text, text, text), open_day(integer), drop_day(text, integer) FROM PUBLIC;

-- From when on a client secret signs webhooks. The one that it replaces does until then.
ALTER TABLE client_secrets ADD COLUMN signs_from timestamptz;
UPDATE client_secrets SET signs_from = created_at;
ALTER TABLE client_secrets ALTER COLUMN signs_from SET NOT NULL, ADD CHECK (signs_from >= created_at);

-- Replays take turns: whoever was served longest ago is next.
ALTER TABLE replays ADD COLUMN turn bigint NOT NULL DEFAULT 0;
-- === 0024-keys-of-the-queue.sql
-- Each index of the queue has a key of its own, so that no statement can mistake one for another. The planner compares indexes by what was
-- counted last: counted while nothing waits, all of them look empty, and one that has only the webhook in common with what is asked for
-- costs no more than the right one, until a million wait. An expression is used by whoever names it, and by nobody else
-- (docs/decisions/0009; src/webhooks/queue-key.ts has the words). Only the primary key has the plain id.
DROP INDEX queued_by_due, queued_by_entity, queued_of_webhook;
CREATE INDEX queued_by_due ON queued_deliveries (webhook_id, urgency, due_at, (id + 0));
CREATE INDEX queued_by_entity ON queued_deliveries ((webhook_id::text || '/' || urgency::text || ' ' || entity), (id + 0));
CREATE INDEX queued_of_webhook ON queued_deliveries ((webhook_id + 0), (id + 0));

-- Nor is anything remembered of what waited at some moment but how much it was.
ALTER TABLE queued_deliveries ALTER COLUMN id SET STATISTICS 0, ALTER COLUMN webhook_id SET STATISTICS 0, ALTER COLUMN event_id SET STATISTICS 0,
  ALTER COLUMN entity SET STATISTICS 0, ALTER COLUMN urgency SET STATISTICS 0, ALTER COLUMN after_id SET STATISTICS 0,
  ALTER COLUMN due_at SET STATISTICS 0, ALTER COLUMN repeats SET STATISTICS 0;
ALTER INDEX queued_by_due ALTER COLUMN 4 SET STATISTICS 0;
ALTER INDEX queued_by_entity ALTER COLUMN 1 SET STATISTICS 0, ALTER COLUMN 2 SET STATISTICS 0;
ALTER INDEX queued_of_webhook ALTER COLUMN 1 SET STATISTICS 0, ALTER COLUMN 2 SET STATISTICS 0;

-- `owner_id` and `place` are what both kinds are searched by: those of a webhook, newest first.
CREATE OR REPLACE VIEW unfinished_deliveries AS
  SELECT id, webhook_id, event_id, entity, CASE WHEN after_id IS NULL THEN 'waiting' ELSE 'blocked' END AS state,
    after_id, due_at, attempts, created_at, NULL::timestamptz AS settled_at, repeats, webhook_id + 0 AS owner_id, id + 0 AS place
  FROM queued_deliveries;
CREATE OR REPLACE VIEW deliveries AS
  SELECT id, webhook_id, event_id, entity, state, after_id, due_at, attempts, created_at, settled_at, repeats, owner_id, place FROM unfinished_deliveries
  UNION ALL
  SELECT id, webhook_id, event_id, entity, state, NULL, NULL, attempts, created_at, settled_at, repeats, webhook_id, id
  FROM settled_deliveries;
-- === 0025-skip-and-recover.sql
-- What a partner decides about what waits: skip it, or have it tried now.

-- Why a delivery was canceled, and who did it; null where nobody wrote it down. Rows of before are not looked at: none has either.
ALTER TABLE settled_deliveries ADD COLUMN reason text, ADD COLUMN canceled_by text;
ALTER TABLE settled_deliveries
  ADD CONSTRAINT settled_deliveries_reason_check CHECK (reason IS NULL OR state = 'canceled') NOT VALID,
  ADD CONSTRAINT settled_deliveries_canceled_by_check CHECK (canceled_by IS NULL OR reason IS NOT NULL) NOT VALID;

CREATE OR REPLACE VIEW deliveries AS
  SELECT id, webhook_id, event_id, entity, state, after_id, due_at, attempts, created_at, settled_at, repeats, owner_id, place,
    NULL::text AS reason, NULL::text AS canceled_by FROM unfinished_deliveries
  UNION ALL
  SELECT id, webhook_id, event_id, entity, state, NULL, NULL, attempts, created_at, settled_at, repeats, webhook_id, id, reason, canceled_by
  FROM settled_deliveries;

-- Everything that waited at a webhook when somebody wanted it gone, taken away in bites beside the traffic: up to `last_id` it is done.
CREATE TABLE skips (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  webhook_id  bigint NOT NULL REFERENCES webhooks,
  reason      text NOT NULL,
  asked_by    text NOT NULL,
  state       text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'finished')),
  skipped     integer NOT NULL DEFAULT 0,
  last_id     bigint NOT NULL DEFAULT 0,
  until_id    bigint NOT NULL,
  -- They take turns: whoever was served longest ago is next.
  turn        bigint NOT NULL DEFAULT 0,
  created_at  timestamptz NOT NULL,
  finished_at timestamptz,
  CHECK ((state = 'running') = (finished_at IS NULL))
);
-- One at a time: whoever asks again while it runs lengthens it.
CREATE UNIQUE INDEX skips_running ON skips (webhook_id) WHERE state = 'running';
CREATE INDEX skips_of_webhook ON skips (webhook_id, id);

-- A replay that begins by having tried at once what waits for its next attempt: from `pull_from` on, up to `pull_until`.
ALTER TABLE replays
  ADD COLUMN pull_from bigint NOT NULL DEFAULT 0,
  ADD COLUMN pull_until bigint,
  ADD COLUMN pulled integer NOT NULL DEFAULT 0,
  ADD CONSTRAINT replays_pull_check CHECK (pull_until IS NULL OR state = 'running') NOT VALID;
-- === 0026-nodes.sql
-- Who delivers, and who of them lives. Each worker has a number, and holds a lock of that number by the connection it listens on: when its process is
-- gone, PostgreSQL lets go of the lock, and the others give its lanes to somebody at once.
ALTER TABLE workers
  ADD COLUMN number integer GENERATED ALWAYS AS IDENTITY UNIQUE,
  -- Since when nobody holds its lock.
  ADD COLUMN missed_at timestamptz,
  -- Whether somebody follows a branch's log on this node, and wants to hear of what others dispatch.
  ADD COLUMN follows boolean NOT NULL DEFAULT false;

ALTER TABLE lanes ADD COLUMN held_by integer;
CREATE INDEX lanes_held ON lanes (held_by) WHERE held_by IS NOT NULL;
-- === 0027-lighter-publish-event.sql
-- PL/pgSQL sets up each of its expressions anew in every transaction: judging an event cost a core more than writing it. An event without fault is judged
-- by one expression now. What that does not take is judged by event_fault, in its words; what it takes, event_fault finds no fault with.

-- Null when it is no JSON that can be delivered.
CREATE FUNCTION read_json(body text) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  RETURN body::jsonb;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION publish_event(environment text, branch_id integer, kind text, action text, entity_id text, body text)
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  moment timestamptz := clock_timestamp();
  fields jsonb := CASE WHEN octet_length($6) <= 65536 THEN read_json($6) END;
  entity text := lower($3) || ':' || $5;
  event_id bigint;
  event_uid uuid;
  fault text;
BEGIN
  IF $1 IN ('live', 'sandbox') AND $5 ~ '^[1-9][0-9]{0,14}$'
    AND fields @> jsonb_build_object('type', $3, 'action', $4, 'branchId', $2)
    AND jsonb_typeof(fields -> 'clearingAccount') = 'string' AND length(fields ->> 'clearingAccount') BETWEEN 1 AND 100
    AND ($3 = 'ACH_PROFILE' OR jsonb_typeof(fields -> 'email') = 'string' AND length(fields ->> 'email') <= 320
      AND fields ->> 'email' ~ '^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$')
    -- As many quotation marks as the names and the texts of these fields have: so there is no other field, and none of them twice.
    AND (CASE $3
      WHEN 'TRANSACTION' THEN $4 IN ('SUBMITTED', 'APPROVED', 'COMPLETED')
        AND jsonb_typeof(fields -> 'transactionId') = 'number' AND fields ->> 'transactionId' = $5
        AND jsonb_typeof(fields -> 'amount') = 'number' AND fields -> 'amount' >= '0' AND fields -> 'direction' IN ('"DEPOSIT"', '"WITHDRAWAL"')
        AND length($6) - length(replace($6, '"', '')) = 2 * (8 + 5)
      WHEN 'APPLICATION' THEN $4 IN ('SUBMITTED', 'PENDING', 'APPROVED', 'REJECTED', 'VERIFIED', 'COMPLETED', 'CANCELED', 'AUTHORIZED')
        AND jsonb_typeof(fields -> 'applicationId') = 'number' AND fields ->> 'applicationId' = $5
        AND length($6) - length(replace($6, '"', '')) = 2 * (6 + 4)
      WHEN 'ACH_PROFILE' THEN $4 IN ('SUBMITTED', 'PENDING', 'APPROVED', 'REJECTED', 'CANCELED', 'MICRODEPOSITS_POSTED')
        AND jsonb_typeof(fields -> 'profileId') = 'number' AND fields ->> 'profileId' = $5
        AND length($6) - length(replace($6, '"', '')) = 2 * (5 + 3)
      END)
  THEN
    INSERT INTO events (id, environment, branch_id, kind, action, entity, body, created_at)
    SELECT d.event_offset + nextval('event_numbers'), $1, $2, $3, $4, entity, $6, moment
    FROM days d, partners p WHERE d.day = day_of(moment) AND p.branch_id = $2 RETURNING id, uid INTO event_id, event_uid;
    IF event_uid IS NOT NULL THEN
      INSERT INTO inbox (part, event_id, branch_id, environment, kind, entity, simulated)
      VALUES ($2 % 16, event_id, $2, $1, $3, entity, false);
      RETURN event_uid;
    END IF;
  END IF;
  fault := event_fault($1, $2, $3, $4, $5, $6);
  IF fault IS NOT NULL THEN RAISE invalid_parameter_value USING MESSAGE = 'publish_event: ' || fault; END IF;
  -- The first event of a day, or one that is written in an unusual way.
  RETURN store_event($1, $2, $3, $4, $5, $6);
END $$;

DO $$ BEGIN
  EXECUTE format('ALTER FUNCTION publish_event(text, integer, text, text, text, text) SET search_path = %I, pg_temp', current_schema());
END $$;
