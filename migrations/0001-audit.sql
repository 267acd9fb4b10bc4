-- Who did what, when, from where. Entries are only ever added. Blocks chain them: each block's hash covers
-- its entries and the hash of the block before it, so that a changed or missing entry shows.

CREATE TABLE audit_entries (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at          timestamptz NOT NULL,
  actor       text NOT NULL,
  action      text NOT NULL,
  subject     text NOT NULL,
  environment text,
  address     text,
  request_id  text,
  details     jsonb NOT NULL
);
CREATE INDEX audit_entries_by_actor ON audit_entries (actor, id);
CREATE INDEX audit_entries_by_subject ON audit_entries (subject, id);
-- By what a request was called. Without what applications do all day: those are API calls, and found there.
CREATE INDEX audit_entries_by_request ON audit_entries (request_id, id)
  WHERE request_id IS NOT NULL AND action NOT IN ('code.exchanged', 'token.refreshed', 'token.rotated');
-- By what was done: what is rare is found at once. The same are left out, and sign-ins, which are no rarity.
CREATE INDEX audit_entries_by_action ON audit_entries (action, id)
  WHERE action NOT IN ('code.exchanged', 'token.refreshed', 'token.rotated', 'session.opened', 'session.closed');
-- Few, and no other index finds them: the person who enabled a provider stays behind its people when the
-- provider is gone.
CREATE INDEX audit_entries_of_removed_providers ON audit_entries (at) WHERE action = 'provider.removed';

-- What a holder reads beside their own acts. What the gateway and partners did to their account, without the
-- renewals that applications make all day:
CREATE INDEX audit_entries_about_holder
  ON audit_entries ((coalesce('user:' || (details ->> 'userId'), subject)), id)
  WHERE actor NOT LIKE 'user:%' AND action NOT IN ('code.exchanged', 'token.refreshed', 'token.rotated');
-- and what another user, an operator, did to it.
CREATE INDEX audit_entries_about_holder_by_user
  ON audit_entries ((coalesce('user:' || (details ->> 'userId'), subject)), id)
  WHERE actor LIKE 'user:%' AND actor <> coalesce('user:' || (details ->> 'userId'), subject)
    AND action NOT LIKE 'partner.%' AND coalesce('user:' || (details ->> 'userId'), subject) LIKE 'user:%';

CREATE TABLE audit_blocks (
  position  bigint PRIMARY KEY CHECK (position > 0),
  entry_ids bigint[] NOT NULL CHECK (cardinality(entry_ids) > 0),
  hash      bytea NOT NULL CHECK (length(hash) = 32),
  sealed_at timestamptz NOT NULL,
  -- The root of the tree of hashes over the block's entries (src/audit/merkle.ts): with it one entry is
  -- proven without showing the others.
  root      bytea NOT NULL CHECK (length(root) = 32)
);

-- Entries that no block holds yet. It holds little and changes all the time: it is cleaned up after a
-- thousand.
CREATE TABLE audit_unsealed (
  entry_id bigint PRIMARY KEY
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Heads that were signed when they were the newest, about one a minute: a proof leads from its entry to the
-- next of them and no further, for a reader who has neither the database nor the rest of the log.
CREATE TABLE audit_heads (
  position  bigint PRIMARY KEY CHECK (position > 0),
  at        timestamptz NOT NULL,
  signature bytea NOT NULL CHECK (length(signature) = 64)
);

-- The key that signs the heads of the log which are written down outside; sealed.
CREATE TABLE audit_anchor_keys (
  id     integer PRIMARY KEY CHECK (id = 1),
  sealed bytea NOT NULL
);

CREATE FUNCTION audit_note_unsealed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO audit_unsealed SELECT id FROM added;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_note_unsealed AFTER INSERT ON audit_entries
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION audit_note_unsealed();

CREATE FUNCTION audit_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'The audit log is append-only.';
END $$;
CREATE TRIGGER audit_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entries
  FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();
CREATE TRIGGER audit_blocks_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_blocks
  FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();
CREATE TRIGGER audit_heads_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_heads
  FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();

-- The role of the database that is connected, as the log names it. A name of PostgreSQL's own sorts as "C",
-- and hands that on to what it is compared with: there, every comparison of text would pass by its index.
CREATE FUNCTION session_actor() RETURNS text LANGUAGE sql STABLE
  RETURN ('role:' || session_user) COLLATE "default";

-- Who acts, and when, for triggers that record or tell it. A transaction says so in `countersign.act`;
-- without it, it is the role that is connected, now.
CREATE FUNCTION current_act() RETURNS jsonb LANGUAGE sql STABLE
  RETURN coalesce(nullif(current_setting('countersign.act', true), '')::jsonb,
    jsonb_build_object('by', session_actor(), 'at', clock_timestamp()));
