-- Registered URLs, what a partner chooses for each, what signs what is sent there, and the workers that
-- deliver. What becomes of each event is the engine's (0012-engine.sql).

-- Operators find a receiver by words of its address, such as `example.com` or `hooks.example`, without the
-- scheme.
CREATE FUNCTION address_words(url text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN to_tsvector('simple'::regconfig, regexp_replace(regexp_replace(lower(url), '^https?://', ''),
    '[^[:alnum:]]+', ' ', 'g'));

CREATE TABLE webhooks (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  branch_id       integer NOT NULL REFERENCES partners,
  environment     text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  client_id       text REFERENCES clients,
  url             text NOT NULL CHECK (length(url) <= 2000),
  description     text NOT NULL DEFAULT '' CHECK (length(description) <= 200),
  kinds           text[] NOT NULL
    CHECK (kinds <@ ARRAY['TRANSACTION', 'APPLICATION', 'ACH_PROFILE', 'AUTHORIZATION']
      AND cardinality(kinds) > 0),
  -- The actions of a kind that are wanted; all of a kind that it does not name.
  actions         jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(actions) = 'object'
    AND actions - ARRAY['TRANSACTION', 'APPLICATION', 'ACH_PROFILE', 'AUTHORIZATION'] = '{}'
    AND NOT actions @? 'strict $.* ? (@.type() != "array" || @.size() == 0)'
    AND coalesce(actions -> 'TRANSACTION' <@ '["SUBMITTED", "APPROVED", "COMPLETED"]', true)
    AND coalesce(actions -> 'APPLICATION' <@
      '["SUBMITTED", "PENDING", "APPROVED", "REJECTED", "VERIFIED", "COMPLETED", "CANCELED", "AUTHORIZED"]',
      true)
    AND coalesce(actions -> 'ACH_PROFILE' <@
      '["SUBMITTED", "PENDING", "APPROVED", "REJECTED", "CANCELED", "MICRODEPOSITS_POSTED"]', true)
    AND coalesce(actions -> 'AUTHORIZATION' <@ '["GRANTED", "CHANGED", "REVOKED"]', true)),
  -- Attempts a second at most; null: as many as the engine makes.
  rate_limit      integer CHECK (rate_limit BETWEEN 1 AND 1000),
  state           text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'disabled', 'deleted')),
  disabled_reason text,
  created_at      timestamptz NOT NULL,
  updated_at      timestamptz NOT NULL,
  CHECK ((state = 'disabled') = (disabled_reason IS NOT NULL))
);
CREATE INDEX webhooks_of_branch ON webhooks (branch_id, environment, id) WHERE state <> 'deleted';
CREATE INDEX webhooks_rated ON webhooks (id) WHERE rate_limit IS NOT NULL AND state = 'active';
-- Webhooks are made seldom: what is new goes into the index at once, and no search reads a list of what is
-- not in it yet.
CREATE INDEX webhooks_by_address ON webhooks USING gin (address_words(url)) WITH (fastupdate = off)
  WHERE state <> 'deleted';

-- Custom secrets. The one that began to sign last signs x-webhook-signature; every one that has not ended is
-- in webhook-signature.
CREATE TABLE webhook_secrets (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  webhook_id bigint NOT NULL REFERENCES webhooks,
  sealed     bytea NOT NULL,
  signs_from timestamptz NOT NULL,
  ends_at    timestamptz,
  created_at timestamptz NOT NULL
);
CREATE INDEX webhook_secrets_of_webhook ON webhook_secrets (webhook_id);
CREATE INDEX webhook_secrets_by_end ON webhook_secrets (ends_at) WHERE ends_at IS NOT NULL;
CREATE INDEX webhook_secrets_by_start ON webhook_secrets (signs_from);

-- Those of a client that have no secret of their own at that moment: the client's signs.
CREATE FUNCTION webhooks_signed_by(client text, moment timestamptz) RETURNS bigint[]
  LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT coalesce(array_agg(w.id ORDER BY w.id), '{}')
  FROM clients c JOIN webhooks w ON w.branch_id = c.branch_id AND w.environment = c.environment
    AND w.client_id = c.id AND w.state <> 'deleted'
  WHERE c.id = client AND NOT EXISTS (
    SELECT FROM webhook_secrets s WHERE s.webhook_id = w.id AND s.signs_from <= moment
      AND (s.ends_at IS NULL OR s.ends_at > moment))
$$;

-- The webhooks of a client that has, or is to have, FAPI 2.0 sign with secrets of their own, whichever
-- statement writes. Both sides lock the row of the client before they look, so that of a switch and a new
-- webhook one waits for the other, and finds it.
CREATE FUNCTION refuse_profile_of_signer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF public.webhooks_signed_by(NEW.id, greatest(NEW.fapi2_from, NEW.updated_at)) <> '{}' THEN
    RAISE integrity_constraint_violation USING CONSTRAINT = 'webhooks_of_fapi2',
      MESSAGE = 'The secret of the client signs webhooks.';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER webhooks_of_fapi2 AFTER UPDATE OF fapi2_from ON clients FOR EACH ROW
  WHEN (NEW.fapi2_from IS NOT NULL AND OLD.fapi2_from IS DISTINCT FROM NEW.fapi2_from)
  EXECUTE FUNCTION refuse_profile_of_signer();

-- At the end of the transaction: a secret is written after its webhook.
CREATE FUNCTION refuse_webhook_of_fapi2() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  webhook bigint := to_jsonb(coalesce(NEW, OLD)) ->> TG_ARGV[0];
BEGIN
  PERFORM FROM public.clients c JOIN public.webhooks w ON w.client_id = c.id WHERE w.id = webhook
    FOR SHARE OF c;
  PERFORM FROM public.webhooks w JOIN public.clients c ON c.id = w.client_id
  WHERE w.id = webhook AND w.state <> 'deleted' AND c.fapi2_from IS NOT NULL AND NOT EXISTS (
    SELECT FROM public.webhook_secrets s WHERE s.webhook_id = w.id AND s.ends_at IS NULL);
  IF FOUND THEN
    RAISE integrity_constraint_violation USING CONSTRAINT = 'webhooks_of_fapi2',
      MESSAGE = 'The secret of a client of FAPI 2.0 signs no webhook.';
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER webhooks_of_fapi2 AFTER INSERT OR UPDATE OF client_id ON webhooks
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.client_id IS NOT NULL)
  EXECUTE FUNCTION refuse_webhook_of_fapi2('id');
CREATE CONSTRAINT TRIGGER webhooks_of_fapi2 AFTER DELETE OR UPDATE OF ends_at ON webhook_secrets
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_webhook_of_fapi2('webhook_id');

-- Headers that go with each delivery of a webhook. They may be credentials of its receiver: values are
-- sealed.
CREATE TABLE webhook_headers (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  webhook_id bigint NOT NULL REFERENCES webhooks,
  name       text NOT NULL CHECK (name ~ '^[a-z0-9][a-z0-9!#$%&''*+.^_`|~-]{0,63}$'),
  sealed     bytea NOT NULL,
  created_at timestamptz NOT NULL,
  UNIQUE (webhook_id, name)
);

-- The receiver that the sandbox has built in (src/webhooks/subscriptions/built-in-receiver.ts): one webhook
-- of a branch whose deliveries are handed over inside the gateway, and the last few of them.
CREATE TABLE built_in_receivers (
  branch_id   integer PRIMARY KEY REFERENCES partners,
  -- The end of its webhook's URL. A webhook whose URL ends differently is not its own any more.
  token       text NOT NULL UNIQUE CHECK (token ~ '^[A-Za-z0-9]{43}$'),
  webhook_id  bigint NOT NULL UNIQUE REFERENCES webhooks,
  created_at  timestamptz NOT NULL,
  -- When a signature was first found right. It stays when the webhook is deleted and made anew.
  verified_at timestamptz
);

-- Bounded by what is kept of a branch, by size and by age.
CREATE TABLE built_in_receipts (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  branch_id   integer NOT NULL REFERENCES built_in_receivers,
  event_uid   text NOT NULL CHECK (length(event_uid) <= 100),
  verified    boolean NOT NULL,
  -- A line each, without the values of headers that the partner chose.
  head        text NOT NULL CHECK (length(head) <= 8000),
  body        text NOT NULL CHECK (length(body) <= 16000),
  received_at timestamptz NOT NULL
);
CREATE INDEX built_in_receipts_of_branch ON built_in_receipts (branch_id, id);
CREATE INDEX built_in_receipts_by_age ON built_in_receipts (received_at);

-- What the charts show, counted while it happens: a row for five minutes of a webhook in which something was
-- sent or waited, and one for all of them together (webhook 0). What is older than a day is kept by the hour.
-- Numbers for people to look at: a process that is killed loses the last seconds of its counts, and no
-- attempt.
CREATE TABLE webhook_counts (
  webhook_id  bigint NOT NULL,
  starts_at   timestamptz NOT NULL,
  minutes     smallint NOT NULL CHECK (minutes IN (5, 60)),
  -- Attempts that were begun in these minutes, by how they ended.
  accepted    integer NOT NULL DEFAULT 0,
  refused     integer NOT NULL DEFAULT 0,
  unreachable integer NOT NULL DEFAULT 0,
  -- Deliveries that waited, at the look at which most did; blocked: those of them that waited behind another.
  waiting     integer NOT NULL DEFAULT 0,
  blocked     integer NOT NULL DEFAULT 0,
  -- How many answers, and how many deliveries, took how long: a number for each cell of
  -- src/webhooks/health/durations.ts.
  answered    integer[] NOT NULL DEFAULT '{}',
  delivered   integer[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (webhook_id, starts_at, minutes),
  CHECK (blocked <= waiting)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX webhook_counts_by_age ON webhook_counts (minutes, starts_at);

-- The workers that deliver, and which of them live. Each says every second that it is there and how many
-- lanes it holds, so that each takes its share. It has a number, and holds a lock of that number by the
-- connection it listens on: when its process is gone, PostgreSQL lets go of the lock, and another worker
-- frees its lanes at once.
CREATE TABLE workers (
  id        uuid PRIMARY KEY,
  number    integer GENERATED BY DEFAULT AS IDENTITY UNIQUE,
  seen_at   timestamptz NOT NULL,
  -- Since when no connection holds its lock.
  missed_at timestamptz,
  lanes     integer NOT NULL,
  -- Whether a client of this node follows a branch's log, and wants to hear of what other nodes number.
  follows   boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
