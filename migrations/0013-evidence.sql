-- Evidence: entries that leave the log with the proof that they stand in it, for a reader who has neither the database nor the rest of the log.

-- The root of the tree of hashes over a block's entries (src/audit/merkle.ts): with it one entry is proven without showing the others. A block
-- without one is of before, and its hash covers its entries one after the other.
ALTER TABLE audit_blocks ADD COLUMN root bytea;
ALTER TABLE audit_blocks ADD CONSTRAINT audit_blocks_root_length CHECK (length(root) = 32) NOT VALID;

-- Heads that were signed when they were the newest, about one a minute: a proof leads from its entry to the next of them and no further.
CREATE TABLE audit_heads (
  position  bigint PRIMARY KEY CHECK (position > 0),
  at        timestamptz NOT NULL,
  signature bytea NOT NULL CHECK (length(signature) = 64)
);
CREATE TRIGGER audit_heads_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_heads
  FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();
