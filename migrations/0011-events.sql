-- What happens: how it is published, and by whom. docs/decisions/0028 says how it is delivered;
-- docs/delivery.md tells it whole.

-- What grows is kept by the day, a partition each, and leaves by dropping days. Days are opened ahead; those
-- that have left have no row here.
CREATE TABLE days (day integer PRIMARY KEY);

-- Two digits of the year, month, day, by the time of Greenwich.
CREATE FUNCTION day_of(at timestamptz) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN at < '2000-01-01Z' THEN 0 WHEN at >= '2090-01-01Z' THEN 900101
    ELSE to_char(at AT TIME ZONE 'UTC', 'YYMMDD')::integer END $$;

-- Makes the partitions of a day, once, beside transactions that write to other days. As the owner of the
-- tables, which the gateway need not be.
CREATE FUNCTION open_day(wanted integer) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
  SET search_path FROM CURRENT AS $$
DECLARE
  name text;
BEGIN
  IF EXISTS (SELECT FROM days WHERE day = wanted) THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(7267105);
  IF EXISTS (SELECT FROM days WHERE day = wanted) THEN RETURN; END IF;
  FOREACH name IN ARRAY ARRAY['log', 'outcomes', 'answers'] LOOP
    EXECUTE format('CREATE TABLE IF NOT EXISTS %I '
      '(LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES)', name || '_d' || wanted, name);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', name,
      name || '_d' || wanted, wanted, wanted + 1);
  END LOOP;
  INSERT INTO days VALUES (wanted);
END $$;

-- The end of a day: its partition of one of these tables goes. A gateway that does not own them may do this
-- and no other harm to them.
CREATE FUNCTION drop_day(whole text, old integer) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
  SET search_path FROM CURRENT AS $$
BEGIN
  IF whole NOT IN ('log', 'outcomes', 'answers') OR whole IS NULL THEN
    RAISE invalid_parameter_value USING MESSAGE = 'drop_day: no table of days';
  END IF;
  EXECUTE format('DROP TABLE IF EXISTS %I', whole || '_d' || old);
END $$;
REVOKE ALL ON FUNCTION open_day(integer), drop_day(text, integer) FROM PUBLIC;

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

-- The name of an event begins with its moment (RFC 9562, version 7): the name alone says where to look for
-- it, and the table in which most is written needs no index for that.
CREATE FUNCTION event_uid() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE
  RETURN (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0')
    || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid;

-- Publishes an event: it has its number when the sequencer has seen it. For the functions below, which say
-- which callers may.
CREATE FUNCTION store_event(environment text, branch_id integer, kind text, action text, entity_id text,
  body text)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  event_uid uuid;
BEGIN
  INSERT INTO outbox (part, feed, kind, action, entity, body, created_at)
  VALUES (part_of($2), feed_of($2, $1), $3, $4, lower($3) || ':' || $5, $6, clock_timestamp())
  RETURNING uid INTO event_uid;
  RETURN event_uid;
END $$;

-- What is wrong with an event that would be published, in the words of the argument that is at fault; null
-- when nothing is. The same as src/webhooks/events/kind.ts asks of the interface: a test holds the two
-- together.
CREATE FUNCTION event_fault(environment text, branch_id integer, kind text, action text, entity_id text,
  body text)
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
  IF environment NOT IN ('live', 'sandbox') OR environment IS NULL
    THEN RETURN 'environment must be live or sandbox'; END IF;
  IF names IS NULL THEN RETURN 'kind must be TRANSACTION, APPLICATION or ACH_PROFILE'; END IF;
  IF action <> ALL (actions) OR action IS NULL
    THEN RETURN format('action must be one of %s', array_to_string(actions, ', ')); END IF;
  IF entity_id !~ '^[1-9][0-9]{0,15}$' OR entity_id IS NULL OR entity_id::bigint > 9007199254740991 THEN
    RETURN 'entity_id must be a whole number from 1 to 9007199254740991';
  END IF;
  IF NOT EXISTS (SELECT FROM partners p WHERE p.branch_id = $2)
    THEN RETURN format('branch_id names no branch: %s', $2); END IF;
  IF body IS NULL THEN RETURN 'body is missing'; END IF;
  IF octet_length(body) > 65536
    THEN RETURN format('body is too long: %s bytes, at most 65536', octet_length(body)); END IF;
  BEGIN
    fields := body::jsonb;
  EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN format('body is not JSON that can be delivered: %s', SQLERRM);
  END;
  IF jsonb_typeof(fields) <> 'object' THEN RETURN 'body must be an object'; END IF;
  given := ARRAY(SELECT json_object_keys(body::json));
  IF NOT given @> names THEN
    RETURN format('body has no %s', (SELECT name FROM unnest(names) AS name WHERE name <> ALL (given)
      LIMIT 1));
  END IF;
  IF NOT given <@ names THEN
    RETURN format('body has %s, which is no field of %s', (SELECT left(name, 100) FROM unnest(given) AS name
      WHERE name <> ALL (names) LIMIT 1), kind);
  END IF;
  IF cardinality(given) > cardinality(names) THEN
    RETURN format('body has %s twice', (SELECT name FROM unnest(given) AS name GROUP BY name
      HAVING count(*) > 1 LIMIT 1));
  END IF;
  IF fields -> names[1] <> to_jsonb(entity_id::bigint)
    THEN RETURN format('body: %s must be entity_id', names[1]); END IF;
  IF fields -> 'type' <> to_jsonb(kind) THEN RETURN 'body: type must be kind'; END IF;
  IF fields -> 'action' <> to_jsonb(action)
    THEN RETURN 'body: action must be the action that is published'; END IF;
  IF fields -> 'branchId' <> to_jsonb(branch_id) THEN RETURN 'body: branchId must be branch_id'; END IF;
  account := fields -> 'clearingAccount';
  IF NOT (kind = 'APPLICATION' AND account = 'null') AND NOT (jsonb_typeof(account) = 'string'
    AND length(account #>> '{}') BETWEEN CASE kind WHEN 'APPLICATION' THEN 0 ELSE 1 END AND 100) THEN
    RETURN 'body: clearingAccount must be text of at most 100 characters';
  END IF;
  IF kind <> 'ACH_PROFILE' AND NOT (jsonb_typeof(fields -> 'email') = 'string'
    AND length(fields ->> 'email') <= 320
    AND fields ->> 'email' ~ '^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$') THEN
    RETURN 'body: email must be an e-mail address';
  END IF;
  IF kind = 'TRANSACTION' THEN
    IF jsonb_typeof(fields -> 'amount') <> 'number' OR fields -> 'amount' < '0'
      THEN RETURN 'body: amount must be a number, 0 or more'; END IF;
    IF fields -> 'direction' NOT IN ('"DEPOSIT"', '"WITHDRAWAL"')
      THEN RETURN 'body: direction must be DEPOSIT or WITHDRAWAL'; END IF;
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
-- SELECT publish_event('live', 7, 'TRANSACTION', 'COMPLETED', '42', '{"transactionId": 42, …}'); It runs with
-- the rights of its owner, so that a publisher needs no others than to call it (docs/delivery.md has the
-- GRANTs). The tables are those of this schema, whatever the caller has of the same name, a temporary one
-- above all.
--
-- PL/pgSQL sets up each of its expressions anew in every transaction, and judging an event step by step costs
-- a core more than writing it: so an event without fault is judged by one expression. What that does not take
-- is judged by event_fault, in its words; what it takes, event_fault finds no fault with.
CREATE FUNCTION publish_event(environment text, branch_id integer, kind text, action text, entity_id text,
  body text)
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  fields jsonb := CASE WHEN octet_length($6) <= 65536 THEN read_json($6) END;
  fault text;
BEGIN
  IF $1 IN ('live', 'sandbox') AND $5 ~ '^[1-9][0-9]{0,14}$'
    AND fields @> jsonb_build_object('type', $3, 'action', $4, 'branchId', $2)
    AND jsonb_typeof(fields -> 'clearingAccount') = 'string'
    AND length(fields ->> 'clearingAccount') BETWEEN 1 AND 100
    AND ($3 = 'ACH_PROFILE' OR jsonb_typeof(fields -> 'email') = 'string'
      AND length(fields ->> 'email') <= 320
      AND fields ->> 'email' ~ '^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$')
    -- As many quotation marks as the names and the texts of these fields have: so there is no other field,
    -- and none of them twice.
    AND (CASE $3
      WHEN 'TRANSACTION' THEN $4 IN ('SUBMITTED', 'APPROVED', 'COMPLETED')
        AND jsonb_typeof(fields -> 'transactionId') = 'number' AND fields ->> 'transactionId' = $5
        AND jsonb_typeof(fields -> 'amount') = 'number' AND fields -> 'amount' >= '0'
        AND fields -> 'direction' IN ('"DEPOSIT"', '"WITHDRAWAL"')
        AND length($6) - length(replace($6, '"', '')) = 2 * (8 + 5)
      WHEN 'APPLICATION' THEN $4 IN ('SUBMITTED', 'PENDING', 'APPROVED', 'REJECTED', 'VERIFIED', 'COMPLETED',
        'CANCELED', 'AUTHORIZED')
        AND jsonb_typeof(fields -> 'applicationId') = 'number' AND fields ->> 'applicationId' = $5
        AND length($6) - length(replace($6, '"', '')) = 2 * (6 + 4)
      WHEN 'ACH_PROFILE' THEN $4 IN ('SUBMITTED', 'PENDING', 'APPROVED', 'REJECTED', 'CANCELED',
        'MICRODEPOSITS_POSTED')
        AND jsonb_typeof(fields -> 'profileId') = 'number' AND fields ->> 'profileId' = $5
        AND length($6) - length(replace($6, '"', '')) = 2 * (5 + 3)
      END)
    AND EXISTS (SELECT FROM partners p WHERE p.branch_id = $2)
  THEN RETURN store_event($1, $2, $3, $4, $5, $6); END IF;
  fault := event_fault($1, $2, $3, $4, $5, $6);
  IF fault IS NOT NULL THEN RAISE invalid_parameter_value USING MESSAGE = 'publish_event: ' || fault; END IF;
  -- One that is written in an unusual way.
  RETURN store_event($1, $2, $3, $4, $5, $6);
END $$;
REVOKE ALL ON FUNCTION publish_event(text, integer, text, text, text, text) FROM PUBLIC;

-- A partner that asks for it learns at once what account holders grant, change, pause and revoke. The gateway
-- alone tells of it.
CREATE FUNCTION publish_authorization() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  client clients;
  what text;
BEGIN
  SELECT * INTO client FROM clients WHERE id = NEW.client_id;
  what := CASE
    WHEN TG_OP = 'INSERT' THEN 'GRANTED'
    WHEN NEW.revoked_at IS NOT NULL THEN 'REVOKED'
    ELSE 'CHANGED' END;
  PERFORM store_event(client.environment, client.branch_id, 'AUTHORIZATION', what, NEW.id::text,
    json_build_object('authorizationId', NEW.id, 'clientId', NEW.client_id, 'userId', NEW.user_id,
      'type', 'AUTHORIZATION', 'action', what, 'branchId', client.branch_id,
      'scope', array_to_string(ARRAY(
        SELECT scope FROM unnest(ARRAY['read', 'write', 'market', 'trade', 'stream'])
          WITH ORDINALITY AS known (scope, place)
        WHERE scope = ANY (NEW.scopes) ORDER BY place), ' '),
      'reason', NEW.revoked_reason, 'paused', NEW.paused_at IS NOT NULL)::text);
  RETURN NULL;
END $$;
CREATE TRIGGER publish_grant AFTER INSERT ON authorizations
  FOR EACH ROW EXECUTE FUNCTION publish_authorization();
CREATE TRIGGER publish_change AFTER UPDATE ON authorizations FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at OR OLD.scopes IS DISTINCT FROM NEW.scopes
    OR OLD.account_numbers IS DISTINCT FROM NEW.account_numbers
    OR OLD.paused_at IS DISTINCT FROM NEW.paused_at)
  EXECUTE FUNCTION publish_authorization();
