-- What operators work with: evidence, and what needs their attention.

-- Who cannot sign in, and since when: what operators look at first would otherwise have to be looked for among everybody. Written by triggers alone, so that no
-- code has to say so; with this search path, whatever one the writer has. `must wait` is the wait after too many failures; it ends by itself.
CREATE TABLE locked_people (
  user_id text NOT NULL,
  reason  text NOT NULL CHECK (reason IN ('locked', 'app locked', 'must wait')),
  since   timestamptz NOT NULL,
  PRIMARY KEY (user_id, reason)
);
CREATE INDEX locked_people_by_age ON locked_people (reason, since);

-- First of all, before anything that others use is locked: it reads all users, and holds up nobody meanwhile.
INSERT INTO locked_people
  SELECT id, 'locked', updated_at FROM users WHERE status = 'disabled'
  UNION ALL SELECT user_id, 'app locked', locked_at FROM totp_factors WHERE locked_at IS NOT NULL;
ALTER TABLE locked_people ADD FOREIGN KEY (user_id) REFERENCES users;

CREATE INDEX refresh_requests_waiting ON refresh_requests (asked_at, id) WHERE answered_at IS NULL;

CREATE FUNCTION note_locked_person(who text, why text, at timestamptz) RETURNS void LANGUAGE sql SET search_path FROM CURRENT AS $$
  INSERT INTO locked_people AS l (user_id, reason, since) SELECT id, why, at FROM users WHERE id = who
  ON CONFLICT (user_id, reason) DO UPDATE SET since = excluded.since
$$;

CREATE FUNCTION note_locked_app() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND NEW.locked_at IS NOT NULL THEN
    PERFORM note_locked_person(NEW.user_id, 'app locked', NEW.locked_at);
  ELSE
    DELETE FROM locked_people WHERE user_id = OLD.user_id AND reason = 'app locked';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER note_locked_app AFTER UPDATE OF locked_at ON totp_factors FOR EACH ROW
  WHEN (OLD.locked_at IS DISTINCT FROM NEW.locked_at) EXECUTE FUNCTION note_locked_app();
CREATE TRIGGER note_removed_app AFTER DELETE ON totp_factors FOR EACH ROW
  WHEN (OLD.locked_at IS NOT NULL) EXECUTE FUNCTION note_locked_app();

-- A wait is begun by whoever records it, and over for whoever gets in.
CREATE FUNCTION note_waiting_person() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF NEW.action = 'session.throttled' THEN
    PERFORM note_locked_person(substr(NEW.subject, 6), 'must wait', NEW.at);
  ELSE
    DELETE FROM locked_people WHERE user_id = substr(NEW.subject, 6) AND reason = 'must wait';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER note_waiting_person AFTER INSERT ON audit_entries FOR EACH ROW
  WHEN (NEW.action IN ('session.throttled', 'session.wait_lifted', 'session.opened') AND NEW.subject LIKE 'user:%')
  EXECUTE FUNCTION note_waiting_person();

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
