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
