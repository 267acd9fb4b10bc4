-- How far the audit log was pushed to the collector that a setting names (src/audit-push): a row for each
-- address that was ever named, by its hash, because an address can hold a token. `position` is the last block
-- that was heard; it moves when the collector has acknowledged. Whoever pushes holds the row until `free_at`;
-- after a failure nobody tries before that.
CREATE TABLE audit_listeners (
  address       bytea PRIMARY KEY CHECK (length(address) = 32),
  position      bigint NOT NULL DEFAULT 0 CHECK (position >= 0),
  heard_at      timestamptz,
  holder        uuid,
  free_at       timestamptz NOT NULL,
  failures      integer NOT NULL DEFAULT 0 CHECK (failures >= 0),
  failing_since timestamptz,
  failure       text CHECK (length(failure) <= 300),
  CHECK ((failures = 0) = (failing_since IS NULL) AND (failures = 0) = (failure IS NULL))
);
