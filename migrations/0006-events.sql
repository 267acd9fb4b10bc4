-- What happened: events, the numbers that each branch gives them, and the inbox from which deliveries are made.
-- docs/decisions/0020 says why it is so; docs/delivery.md tells it whole.

-- What grows is kept by the day, a partition each, and leaves by dropping days. An id carries its day: 2611150000000042 is the 42nd number
-- of 15 November 2026. Numbers never go back: each day has an offset that is added to the next number of the sequence, so that the ids of a
-- day begin at its date and keep growing whatever the clock does.
CREATE SEQUENCE event_numbers;
CREATE SEQUENCE delivery_numbers;
CREATE TABLE days (
  day             integer PRIMARY KEY,
  event_offset    bigint NOT NULL,
  delivery_offset bigint NOT NULL
);

-- Two digits of the year, month, day, by the time of Greenwich. Numbers of days after 1 January 2090 would not fit where numbers have 53 bits.
CREATE FUNCTION day_of(at timestamptz) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN at < '2000-01-01Z' THEN 0 WHEN at >= '2090-01-01Z' THEN 900101
    ELSE to_char(at AT TIME ZONE 'UTC', 'YYMMDD')::integer END $$;

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

-- Branches are not checked by a foreign key: whoever writes an event has looked for its branch, for all events of a statement at once.
CREATE TABLE events (
  id          bigint PRIMARY KEY,
  uid         uuid NOT NULL DEFAULT gen_random_uuid(),
  environment text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  branch_id   integer NOT NULL,
  kind        text NOT NULL CHECK (kind IN ('TRANSACTION', 'APPLICATION', 'ACH_PROFILE', 'AUTHORIZATION')),
  action      text NOT NULL,
  entity      text NOT NULL,
  body        text NOT NULL,
  -- A test hook goes to every registered URL, whatever kinds it subscribes to.
  simulated   boolean NOT NULL DEFAULT false,
  created_at  timestamptz NOT NULL,
  -- The span under which the event was published, as W3C prints it, so that its deliveries belong to the same trace, whichever node
  -- makes them and however late. Null where nobody traces.
  traceparent text
) PARTITION BY RANGE (id);

-- The gap-free sequence of each branch. The last number of a branch is the newest row of its log: no row changes with every event, so that
-- none drags a tail of dead versions behind it while somebody reads a long report.
CREATE TABLE branch_log (
  branch_id   integer NOT NULL,
  environment text NOT NULL,
  sequence    bigint NOT NULL,
  event_id    bigint NOT NULL,
  day         integer NOT NULL,
  -- How many deliveries the event was given: what a check can hold against what is there. Null where nobody counted.
  deliveries  integer,
  PRIMARY KEY (branch_id, environment, sequence, day)
) PARTITION BY RANGE (day);

-- On which day which numbers of a branch were given; one row a branch and day on which something happened. `last` is filled in when the day is over.
CREATE TABLE branch_days (
  branch_id   integer NOT NULL,
  environment text NOT NULL,
  day         integer NOT NULL,
  first       bigint NOT NULL,
  last        bigint,
  PRIMARY KEY (branch_id, environment, day)
);

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
-- Every transaction from now on is still to be read.
INSERT INTO inbox_reads (part, number, read, day)
SELECT part, 0, format('%s:%s:', pg_snapshot_xmin(pg_current_snapshot()), pg_snapshot_xmin(pg_current_snapshot()))::pg_snapshot, 0
FROM generate_series(0, 15) AS part;

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

-- Null when it is no JSON that can be delivered.
CREATE FUNCTION read_json(body text) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  RETURN body::jsonb;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
  RETURN NULL;
END $$;

-- For the brokerage's own transactions in the same PostgreSQL: the event commits or vanishes with them.
--   SELECT publish_event('live', 7, 'TRANSACTION', 'COMPLETED', '42', '{"transactionId": 42, …}');
-- It runs with the rights of its owner, so that a publisher needs no others than to call it (docs/delivery.md has the GRANTs). PL/pgSQL sets
-- up each of its expressions anew in every transaction, and judging an event step by step costs a core more than writing it: so an event
-- without fault is judged by one expression. What that does not take is judged by event_fault, in its words; what it takes, event_fault finds
-- no fault with.
CREATE FUNCTION publish_event(environment text, branch_id integer, kind text, action text, entity_id text, body text)
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

-- A partner that asks for it learns at once what account holders grant, change, pause and revoke. The gateway alone tells of it.
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
  PERFORM store_event(client.environment, client.branch_id, 'AUTHORIZATION', what, NEW.id::text, json_build_object(
    'authorizationId', NEW.id, 'clientId', NEW.client_id, 'userId', NEW.user_id, 'type', 'AUTHORIZATION', 'action', what,
    'branchId', client.branch_id, 'scope', array_to_string(ARRAY(
      SELECT scope FROM unnest(ARRAY['read', 'write', 'market', 'trade', 'stream']) WITH ORDINALITY AS known (scope, place)
      WHERE scope = ANY (NEW.scopes) ORDER BY place), ' '), 'reason', NEW.revoked_reason,
    'paused', NEW.paused_at IS NOT NULL)::text);
  RETURN NULL;
END $$;
CREATE TRIGGER publish_granted AFTER INSERT ON authorizations FOR EACH ROW EXECUTE FUNCTION publish_authorization();
CREATE TRIGGER publish_changed AFTER UPDATE ON authorizations FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at OR OLD.scopes IS DISTINCT FROM NEW.scopes
        OR OLD.account_numbers IS DISTINCT FROM NEW.account_numbers OR OLD.paused_at IS DISTINCT FROM NEW.paused_at)
  EXECUTE FUNCTION publish_authorization();

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
