-- What people are told by e-mail. A notice is written in the transaction of what it tells of; a worker sends
-- it afterwards.

-- `email` is the address at that moment: a later change of it does not divert what was written before. `key`
-- names what is told: the same is told once. While a worker has it in hand, `due_at` is when its lease ends.
CREATE TABLE notices (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id    text REFERENCES users,
  email      text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
  kind       text NOT NULL CHECK (kind IN (
    'sign-in', 'application', 'address', 'password', 'password-reset', 'second-factor', 'recovery-codes',
    'api-token', 'access-ended',
    'webhook-failing', 'webhook-recovered', 'webhook-disabled', 'secret-expiring', 'partner-decided',
    'partner-message', 'client-profile', 'invitation', 'member-joined', 'operations', 'alerts',
    'staff-password', 'proposal', 'break-glass', 'power')),
  key        text NOT NULL UNIQUE CHECK (length(key) <= 200),
  facts      jsonb NOT NULL,
  state      text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'given up')),
  attempts   integer NOT NULL DEFAULT 0,
  due_at     timestamptz NOT NULL,
  claim_id   uuid,
  error      text CHECK (length(error) <= 300),
  created_at timestamptz NOT NULL,
  settled_at timestamptz,
  CHECK ((state = 'waiting') = (settled_at IS NULL)),
  CHECK (state = 'waiting' OR claim_id IS NULL),
  -- An invitation goes to an address, whether or not a user has it.
  CONSTRAINT notices_without_user CHECK (user_id IS NOT NULL OR kind = 'invitation')
);
CREATE INDEX notices_due ON notices (due_at, id) WHERE state = 'waiting';
CREATE INDEX notices_of_user ON notices (user_id, kind, created_at);
CREATE INDEX notices_by_age ON notices (settled_at) WHERE state <> 'waiting';

-- What would hand an account to another person is told to its address and to those of the last 30 days; a
-- change of address to those of before alone. Beyond twenty of a kind in a day one notice an hour stands for
-- all: a person who uses up the others silences no notice, and buries none. Counted by address.
CREATE FUNCTION tell_owner(who text, guarded text, told_of jsonb, moment timestamptz) RETURNS void
  LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO notices (user_id, email, kind, key, facts, created_at, due_at)
  SELECT who, told.email, guarded,
    concat_ws(':', guarded, CASE WHEN told.today < 20 THEN told.own ELSE told.hourly END,
      encode(sha256(convert_to(told.email, 'UTF8')), 'hex')),
    told_of || jsonb_build_object('former', told.former, 'more', told.today >= 20), moment, moment
  FROM (SELECT a.email, a.former, gen_random_uuid()::text AS own,
          format('more:%s:%s', who, floor(extract(epoch FROM moment) / 3600)) AS hourly,
          (SELECT count(*) FROM notices n WHERE n.user_id = who AND n.kind = guarded AND n.email = a.email
            AND n.created_at > moment - interval '24 hours') AS today
        FROM (SELECT email, false AS former FROM users
              WHERE id = who AND email IS NOT NULL AND guarded <> 'address'
              UNION ALL
              SELECT f.email, true FROM former_emails f JOIN users u ON u.id = f.user_id
              WHERE f.user_id = who AND f.replaced_at > moment - interval '720 hours'
                AND f.email IS DISTINCT FROM u.email) AS a) AS told
  ORDER BY told.email ON CONFLICT (key) DO NOTHING;
END $$;

-- Whichever way an address is changed (by its holder, an operator, a source, a hand in SQL), the one before
-- is kept and told, and the log has it.
CREATE FUNCTION users_note_email_change() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  NEW.email_changed_at := (current_act() ->> 'at')::timestamptz;
  RETURN NEW;
END $$;
CREATE TRIGGER users_note_email_change BEFORE UPDATE OF email ON users FOR EACH ROW
  WHEN (OLD.email IS DISTINCT FROM NEW.email) EXECUTE FUNCTION users_note_email_change();

CREATE FUNCTION users_tell_email_change() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  act jsonb := current_act();
  change text := CASE WHEN OLD.email IS NULL THEN 'set' WHEN NEW.email IS NULL THEN 'removed'
    ELSE 'replaced' END;
  by_holder boolean := act ->> 'by' = 'user:' || NEW.id;
BEGIN
  IF OLD.email IS NOT NULL THEN
    INSERT INTO former_emails (user_id, email, replaced_at) VALUES (NEW.id, OLD.email, NEW.email_changed_at)
    ON CONFLICT (user_id, email) DO UPDATE SET replaced_at = excluded.replaced_at;
  END IF;
  INSERT INTO audit_entries (at, actor, action, subject, environment, address, request_id, details)
  VALUES (NEW.email_changed_at, act ->> 'by', 'user.email_changed', 'user:' || NEW.id, act ->> 'environment',
    act ->> 'address', act ->> 'requestId',
    jsonb_strip_nulls(jsonb_build_object('change', change, 'reason', act ->> 'reason')));
  -- A holder does not learn where the brokerage's own people sit.
  PERFORM tell_owner(NEW.id, 'address', jsonb_build_object('changed', change, 'byHolder', by_holder,
    'from', CASE WHEN by_holder THEN act ->> 'address' END,
    'userAgent', CASE WHEN by_holder THEN act ->> 'userAgent' END), NEW.email_changed_at);
  RETURN NULL;
END $$;
CREATE TRIGGER users_tell_email_change AFTER UPDATE OF email ON users FOR EACH ROW
  WHEN (OLD.email IS DISTINCT FROM NEW.email) EXECUTE FUNCTION users_tell_email_change();
