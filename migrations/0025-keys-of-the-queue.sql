-- Each index of the queue has a key of its own, so that no statement can mistake one for another. The planner compares indexes by what was
-- counted last: counted while nothing waits, all of them look empty, and one that has only the webhook in common with what is asked for
-- costs no more than the right one, until a million wait. An expression is used by whoever names it, and by nobody else
-- (docs/decisions/0009; src/webhooks/queue-key.ts has the words). Only the primary key has the plain id.
DROP INDEX queued_by_due, queued_by_entity, queued_of_webhook;
CREATE INDEX queued_by_due ON queued_deliveries (webhook_id, urgency, due_at, (id + 0));
CREATE INDEX queued_by_entity ON queued_deliveries ((webhook_id::text || '/' || urgency::text || ' ' || entity), (id + 0));
CREATE INDEX queued_of_webhook ON queued_deliveries ((webhook_id + 0), (id + 0));

-- Nor is anything remembered of what waited at some moment but how much it was.
ALTER TABLE queued_deliveries ALTER COLUMN id SET STATISTICS 0, ALTER COLUMN webhook_id SET STATISTICS 0, ALTER COLUMN event_id SET STATISTICS 0,
  ALTER COLUMN entity SET STATISTICS 0, ALTER COLUMN urgency SET STATISTICS 0, ALTER COLUMN after_id SET STATISTICS 0,
  ALTER COLUMN due_at SET STATISTICS 0, ALTER COLUMN repeats SET STATISTICS 0;
ALTER INDEX queued_by_due ALTER COLUMN 4 SET STATISTICS 0;
ALTER INDEX queued_by_entity ALTER COLUMN 1 SET STATISTICS 0, ALTER COLUMN 2 SET STATISTICS 0;
ALTER INDEX queued_of_webhook ALTER COLUMN 1 SET STATISTICS 0, ALTER COLUMN 2 SET STATISTICS 0;

-- `owner_id` and `place` are what both kinds are searched by: those of a webhook, newest first.
CREATE OR REPLACE VIEW unfinished_deliveries AS
  SELECT id, webhook_id, event_id, entity, CASE WHEN after_id IS NULL THEN 'waiting' ELSE 'blocked' END AS state,
    after_id, due_at, attempts, created_at, NULL::timestamptz AS settled_at, repeats, webhook_id + 0 AS owner_id, id + 0 AS place
  FROM queued_deliveries;
CREATE OR REPLACE VIEW deliveries AS
  SELECT id, webhook_id, event_id, entity, state, after_id, due_at, attempts, created_at, settled_at, repeats, owner_id, place FROM unfinished_deliveries
  UNION ALL
  SELECT id, webhook_id, event_id, entity, state, NULL, NULL, attempts, created_at, settled_at, repeats, webhook_id, id
  FROM settled_deliveries;
