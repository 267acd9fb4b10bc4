-- Registered URLs, and who delivers to them. What becomes of each event is the engine's (0024-engine.sql).

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

-- Who delivers, and who of them lives. Each worker says every second that it is there and how many lanes it holds, so that each takes its
-- share. It has a number, and holds a lock of that number by the connection it listens on: when its process is gone, PostgreSQL lets go of the
-- lock, and the others give its lanes to somebody at once.
CREATE TABLE workers (
  id        uuid PRIMARY KEY,
  number    integer GENERATED ALWAYS AS IDENTITY UNIQUE,
  seen_at   timestamptz NOT NULL,
  -- Since when nobody holds its lock.
  missed_at timestamptz,
  lanes     integer NOT NULL,
  -- Whether somebody follows a branch's log on this node, and wants to hear of what others dispatch.
  follows   boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
