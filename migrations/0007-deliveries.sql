-- Registered URLs, the delivery of each event to each of them, and who delivers. docs/delivery.md draws the states; the CHECK constraints
-- here and the types in src/webhooks agree with it. What is unfinished lives in one small table; what is finished only grows, a partition a
-- day (docs/decisions/0020).

CREATE TABLE webhooks (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  branch_id       integer NOT NULL REFERENCES partners,
  environment     text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  client_id       text REFERENCES clients,
  url             text NOT NULL CHECK (length(url) <= 2000),
  kinds           text[] NOT NULL CHECK (kinds <@ ARRAY['TRANSACTION', 'APPLICATION', 'ACH_PROFILE', 'AUTHORIZATION'] AND cardinality(kinds) > 0),
  state           text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'disabled', 'deleted')),
  disabled_reason text,
  -- Null at a deleted one while its deliveries are still being cleared away.
  cleared_at      timestamptz,
  created_at      timestamptz NOT NULL,
  updated_at      timestamptz NOT NULL,
  CHECK ((state = 'disabled') = (disabled_reason IS NOT NULL)),
  CHECK (cleared_at IS NULL OR state = 'deleted')
);
CREATE INDEX webhooks_of_branch ON webhooks (branch_id, environment, id) WHERE state <> 'deleted';
CREATE INDEX webhooks_to_clear ON webhooks (id) WHERE state = 'deleted' AND cleared_at IS NULL;

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

-- One row a webhook: when somebody has to look at it, and who is looking. While a worker holds the lane, `attention_at` is
-- when its lease ends, so that one index answers "which lanes need somebody" for idle and orphaned lanes alike.
CREATE TABLE lanes (
  webhook_id    bigint PRIMARY KEY REFERENCES webhooks,
  part          smallint NOT NULL,
  attention_at  timestamptz,
  claim_id      uuid,
  -- The number of the worker that holds it.
  held_by       integer,
  -- New deliveries came while the lane was held: its holder looks again before it lets go.
  has_news      boolean NOT NULL DEFAULT false,
  -- Failures in a row, and different entities whose first attempt failed since the last success; from five of those on the breaker is open
  -- and one attempt at a time probes.
  failures      integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  evidence      integer NOT NULL DEFAULT 0,
  -- Nothing that waits is due before this: what lies earlier in the index is dead.
  due_from      timestamptz NOT NULL DEFAULT '-infinity',
  -- The receiver wants to be left alone until then, whatever is published meanwhile.
  held_until    timestamptz NOT NULL DEFAULT '-infinity',
  CHECK (claim_id IS NULL OR attention_at IS NOT NULL),
  CHECK ((failures = 0) = (failing_since IS NULL)),
  CHECK (evidence <= failures)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX lanes_by_attention ON lanes (attention_at) WHERE attention_at IS NOT NULL;
CREATE INDEX lanes_held ON lanes (held_by) WHERE held_by IS NOT NULL;
-- Looked for once a minute: whose partner has to be told.
CREATE INDEX lanes_failing ON lanes (failing_since) WHERE failing_since IS NOT NULL;

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
    failing_since = CASE WHEN approved THEN NULL ELSE failing_since END,
    evidence = CASE WHEN approved THEN 0 ELSE evidence END
  WHERE webhook_id = ANY (ARRAY(SELECT id FROM webhooks WHERE branch_id = NEW.branch_id AND state <> 'deleted'));
  PERFORM pg_notify('countersign_work', 'delivery');
  RETURN NULL;
END $$;
CREATE TRIGGER hold_or_release_lanes AFTER UPDATE ON partners FOR EACH ROW
  WHEN ((OLD.status = 'approved') <> (NEW.status = 'approved')) EXECUTE FUNCTION hold_or_release_lanes();

-- Work in hand. A delivery that waits for an earlier one of its entity is due at no time. Without foreign keys, as all that follows: rows
-- are made from events and webhooks by one statement, and a check a row would cost as much again.
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

-- Each index of the queue has a key of its own, so that no statement can mistake one for another. The planner compares indexes by what was
-- counted last: counted while nothing waits, all of them look empty, and one that has only the webhook in common with what is asked for
-- costs no more than the right one, until a million wait. An expression is used by whoever names it, and by nobody else
-- (docs/decisions/0009; src/webhooks/queue-key.ts has the words). Only the primary key has the plain id.
CREATE INDEX queued_by_due ON queued_deliveries (webhook_id, urgency, due_at, (id + 0));
CREATE INDEX queued_by_entity ON queued_deliveries ((webhook_id::text || '/' || urgency::text || ' ' || entity), (id + 0));
CREATE INDEX queued_of_webhook ON queued_deliveries ((webhook_id + 0), (id + 0));
CREATE INDEX queued_behind ON queued_deliveries (after_id) WHERE after_id IS NOT NULL;

-- Nor is anything remembered of what waited at some moment but how much it was.
ALTER TABLE queued_deliveries ALTER COLUMN id SET STATISTICS 0, ALTER COLUMN webhook_id SET STATISTICS 0, ALTER COLUMN event_id SET STATISTICS 0,
  ALTER COLUMN entity SET STATISTICS 0, ALTER COLUMN urgency SET STATISTICS 0, ALTER COLUMN after_id SET STATISTICS 0,
  ALTER COLUMN due_at SET STATISTICS 0, ALTER COLUMN repeats SET STATISTICS 0;
ALTER INDEX queued_by_due ALTER COLUMN 4 SET STATISTICS 0;
ALTER INDEX queued_by_entity ALTER COLUMN 1 SET STATISTICS 0, ALTER COLUMN 2 SET STATISTICS 0;
ALTER INDEX queued_of_webhook ALTER COLUMN 1 SET STATISTICS 0, ALTER COLUMN 2 SET STATISTICS 0;

-- What has ended, by the day of its number; it stays so.
CREATE TABLE settled_deliveries (
  id          bigint PRIMARY KEY,
  webhook_id  bigint NOT NULL,
  event_id    bigint NOT NULL,
  entity      text NOT NULL,
  state       text NOT NULL CHECK (state IN ('delivered', 'exhausted', 'canceled', 'expired')),
  attempts    integer NOT NULL DEFAULT 0,
  created_at  timestamptz NOT NULL,
  settled_at  timestamptz NOT NULL,
  repeats     bigint,
  -- Why it was canceled, and who did it; null where nobody wrote it down.
  reason      text,
  canceled_by text,
  CONSTRAINT settled_deliveries_reason_check CHECK (reason IS NULL OR state = 'canceled'),
  CONSTRAINT settled_deliveries_canceled_by_check CHECK (canceled_by IS NULL OR reason IS NOT NULL)
) PARTITION BY RANGE (id);
CREATE INDEX settled_of_webhook ON settled_deliveries (webhook_id, id);
CREATE INDEX settled_of_event ON settled_deliveries (event_id);
-- What was given up is what people look for.
CREATE INDEX settled_exhausted ON settled_deliveries (webhook_id, id) WHERE state = 'exhausted';

-- Both together, for whoever looks: a page, a search, a check. The engine itself writes to each. `owner_id` and `place` are what both kinds
-- are searched by: those of a webhook, newest first.
CREATE VIEW unfinished_deliveries AS
  SELECT id, webhook_id, event_id, entity, CASE WHEN after_id IS NULL THEN 'waiting' ELSE 'blocked' END AS state,
    after_id, due_at, attempts, created_at, NULL::timestamptz AS settled_at, repeats, webhook_id + 0 AS owner_id, id + 0 AS place
  FROM queued_deliveries;
CREATE VIEW deliveries AS
  SELECT id, webhook_id, event_id, entity, state, after_id, due_at, attempts, created_at, settled_at, repeats, owner_id, place,
    NULL::text AS reason, NULL::text AS canceled_by FROM unfinished_deliveries
  UNION ALL
  SELECT id, webhook_id, event_id, entity, state, NULL, NULL, attempts, created_at, settled_at, repeats, webhook_id, id, reason, canceled_by
  FROM settled_deliveries;

-- By the day on which they were made, which may be later than that of their delivery.
CREATE TABLE attempts (
  delivery_id bigint NOT NULL,
  number      integer NOT NULL,
  at          timestamptz NOT NULL,
  duration_ms integer NOT NULL,
  outcome     text NOT NULL CHECK (outcome IN ('accepted', 'refused', 'unreachable')),
  status      integer,
  why         text,
  response    text,
  day         integer NOT NULL,
  CHECK ((outcome = 'unreachable') = (status IS NULL))
) PARTITION BY RANGE (day);
CREATE INDEX attempts_of_delivery ON attempts (delivery_id, number);

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
  -- They take turns: whoever was served longest ago is next.
  turn        bigint NOT NULL DEFAULT 0,
  -- One that begins by having tried at once what waits for its next attempt: from `pull_from` on, up to `pull_until`.
  pull_from   bigint NOT NULL DEFAULT 0,
  pull_until  bigint,
  pulled      integer NOT NULL DEFAULT 0,
  created_at  timestamptz NOT NULL,
  finished_at timestamptz,
  CHECK ((state = 'running') = (finished_at IS NULL)),
  CONSTRAINT replays_pull_check CHECK (pull_until IS NULL OR state = 'running')
);
CREATE INDEX replays_running ON replays (id) WHERE state = 'running';
CREATE INDEX replays_of_webhook ON replays (webhook_id, id);

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
