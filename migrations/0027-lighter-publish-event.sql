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
