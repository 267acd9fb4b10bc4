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
