-- What the charts show, counted while it happens: a row for five minutes of a webhook in which something was sent or waited, and one for all
-- of them together (webhook 0). What is older than a day is kept by the hour. Numbers for people to look at: a process that is killed loses
-- the last seconds of its counts, and no attempt.
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
  -- How many answers, and how many deliveries, took how long: a number for each cell of src/webhooks/health/durations.ts.
  answered    integer[] NOT NULL DEFAULT '{}',
  delivered   integer[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (webhook_id, starts_at, minutes),
  CHECK (blocked <= waiting)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX webhook_counts_by_age ON webhook_counts (minutes, starts_at);
