-- What a partner decides about what waits: skip it, or have it tried now.

-- Why a delivery was canceled, and who did it; null where nobody wrote it down. Rows of before are not looked at: none has either.
ALTER TABLE settled_deliveries ADD COLUMN reason text, ADD COLUMN canceled_by text;
ALTER TABLE settled_deliveries
  ADD CONSTRAINT settled_deliveries_reason_check CHECK (reason IS NULL OR state = 'canceled') NOT VALID,
  ADD CONSTRAINT settled_deliveries_canceled_by_check CHECK (canceled_by IS NULL OR reason IS NOT NULL) NOT VALID;

CREATE OR REPLACE VIEW deliveries AS
  SELECT id, webhook_id, event_id, entity, state, after_id, due_at, attempts, created_at, settled_at, repeats, owner_id, place,
    NULL::text AS reason, NULL::text AS canceled_by FROM unfinished_deliveries
  UNION ALL
  SELECT id, webhook_id, event_id, entity, state, NULL, NULL, attempts, created_at, settled_at, repeats, webhook_id, id, reason, canceled_by
  FROM settled_deliveries;

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

-- A replay that begins by having tried at once what waits for its next attempt: from `pull_from` on, up to `pull_until`.
ALTER TABLE replays
  ADD COLUMN pull_from bigint NOT NULL DEFAULT 0,
  ADD COLUMN pull_until bigint,
  ADD COLUMN pulled integer NOT NULL DEFAULT 0,
  ADD CONSTRAINT replays_pull_check CHECK (pull_until IS NULL OR state = 'running') NOT VALID;
