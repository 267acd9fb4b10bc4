-- Who delivers, and who of them lives. Each worker has a number, and holds a lock of that number by the connection it listens on: when its process is
-- gone, PostgreSQL lets go of the lock, and the others give its lanes to somebody at once.
ALTER TABLE workers
  ADD COLUMN number integer GENERATED ALWAYS AS IDENTITY UNIQUE,
  -- Since when nobody holds its lock.
  ADD COLUMN missed_at timestamptz,
  -- Whether somebody follows a branch's log on this node, and wants to hear of what others dispatch.
  ADD COLUMN follows boolean NOT NULL DEFAULT false;

ALTER TABLE lanes ADD COLUMN held_by integer;
CREATE INDEX lanes_held ON lanes (held_by) WHERE held_by IS NOT NULL;
