-- What a partner chooses for a webhook beside its URL and its kinds: actions, a rate, headers of its own, a description.

-- `actions` names the actions of a kind that are wanted; all of a kind that it does not name.
ALTER TABLE webhooks
  ADD COLUMN actions jsonb NOT NULL DEFAULT '{}',
  -- Attempts a second at most; null: as many as the engine makes.
  ADD COLUMN rate_limit integer,
  ADD COLUMN description text NOT NULL DEFAULT '',
  ADD CONSTRAINT webhooks_rate_limit_check CHECK (rate_limit BETWEEN 1 AND 1000),
  ADD CONSTRAINT webhooks_description_check CHECK (length(description) <= 200),
  ADD CONSTRAINT webhooks_actions_check CHECK (jsonb_typeof(actions) = 'object'
    AND actions - ARRAY['TRANSACTION', 'APPLICATION', 'ACH_PROFILE', 'AUTHORIZATION'] = '{}'
    AND NOT actions @? 'strict $.* ? (@.type() != "array" || @.size() == 0)'
    AND coalesce(actions -> 'TRANSACTION' <@ '["SUBMITTED", "APPROVED", "COMPLETED"]', true)
    AND coalesce(actions -> 'APPLICATION' <@
      '["SUBMITTED", "PENDING", "APPROVED", "REJECTED", "VERIFIED", "COMPLETED", "CANCELED", "AUTHORIZED"]', true)
    AND coalesce(actions -> 'ACH_PROFILE' <@
      '["SUBMITTED", "PENDING", "APPROVED", "REJECTED", "CANCELED", "MICRODEPOSITS_POSTED"]', true)
    AND coalesce(actions -> 'AUTHORIZATION' <@ '["GRANTED", "CHANGED", "REVOKED"]', true));

-- Headers that go with each delivery of a webhook. They may be credentials of its receiver: values are sealed.
CREATE TABLE webhook_headers (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  webhook_id bigint NOT NULL REFERENCES webhooks,
  name       text NOT NULL CHECK (name ~ '^[a-z0-9][a-z0-9!#$%&''*+.^_`|~-]{0,63}$'),
  sealed     bytea NOT NULL,
  created_at timestamptz NOT NULL,
  UNIQUE (webhook_id, name)
);
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON webhook_headers FOR EACH ROW
  EXECUTE FUNCTION announce_change('webhook', 'webhook_id');

-- Whoever takes a lane begins nothing before this: what its last holder began still counts against the rate that its receiver wants.
ALTER TABLE lanes ADD COLUMN limited_until timestamptz NOT NULL DEFAULT '-infinity';

-- The dispatcher chooses by action too. Null where a node of the release before wrote the entry: then it is read from the event.
ALTER TABLE inbox ADD COLUMN action text;

CREATE OR REPLACE FUNCTION store_event(environment text, branch_id integer, kind text, action text, entity_id text, body text)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz := clock_timestamp();
  today days := open_day(day_of(moment));
  entity text := lower($3) || ':' || $5;
  event events;
BEGIN
  INSERT INTO events (id, environment, branch_id, kind, action, entity, body, created_at)
  VALUES (today.event_offset + nextval('event_numbers'), $1, $2, $3, $4, entity, $6, moment) RETURNING * INTO event;
  INSERT INTO inbox (part, event_id, branch_id, environment, kind, action, entity, simulated)
  VALUES ($2 % 16, event.id, $2, $1, $3, $4, entity, false);
  RETURN event.uid;
END $$;

-- As it was made (0006 says why it is written so), but that the entry in the inbox has the action.
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
      INSERT INTO inbox (part, event_id, branch_id, environment, kind, action, entity, simulated)
      VALUES ($2 % 16, event_id, $2, $1, $3, $4, entity, false);
      RETURN event_uid;
    END IF;
  END IF;
  fault := event_fault($1, $2, $3, $4, $5, $6);
  IF fault IS NOT NULL THEN RAISE invalid_parameter_value USING MESSAGE = 'publish_event: ' || fault; END IF;
  -- The first event of a day, or one that is written in an unusual way.
  RETURN store_event($1, $2, $3, $4, $5, $6);
END $$;
DO $$
BEGIN
  EXECUTE format('ALTER FUNCTION publish_event(text, integer, text, text, text, text) SET search_path = %I, pg_temp', current_schema());
END $$;
