-- Account holders and the brokerage's own people: who they are, which accounts they hold, who of them cannot
-- sign in.

-- Operators look for people and partners by the words of their names: `ada lo` finds Ada Lovelace.
CREATE FUNCTION name_words(name text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN to_tsvector('simple'::regconfig, regexp_replace(name, '[[:punct:]]+', ' ', 'g'));

-- `role` says who a person is, for good: a customer (holder); one of the brokerage's own (operator), who may do
-- what follows from staff_roles; a partner's colleague who made an account through an invitation (member), who
-- is no customer and holds no account; or one of the test holders that each partner has in the sandbox (test),
-- of the partner that `test_of` names. Nobody else has a `#` in their username, so the names of the last two
-- are in nobody's way.
--
-- Customers and accounts may come from a source (0007-provisioning.sql), under the name that it has for them
-- and as of the version that it gave last. No foreign key says that the source is there: it would ask for
-- each of a million rows. merge_records, and the statement that links a person by hand, look first. Staff
-- never has a name at a source: what provisioning finds by such a name is a customer.
CREATE TABLE users (
  id               text PRIMARY KEY CHECK (id ~ '^id-[a-z0-9]{12}$'),
  username         text NOT NULL UNIQUE
    CHECK (username = lower(username) AND length(username) BETWEEN 1 AND 100),
  name             text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  -- Where notices go; null: nowhere.
  email            text CHECK (length(email) BETWEEN 3 AND 254),
  -- When the address was given instead of another, or of none. A trigger alone writes it (0006-notices.sql),
  -- whichever way the address came. For a day no password reset goes there.
  email_changed_at timestamptz,
  -- Of the kinds of notices that may be declined.
  declined_notices text[] NOT NULL DEFAULT '{}',
  -- Null: this person signs in at an identity provider, or not at all; of a test holder the password follows
  -- from the keys (src/users/test-holder.ts).
  password_hash    text,
  role             text NOT NULL DEFAULT 'holder' CHECK (role IN ('holder', 'operator', 'member', 'test')),
  -- A branch.
  test_of          integer,
  status           text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
  source           text,
  external_id      text COLLATE "C",
  version          bigint,
  locale           text,
  -- What the source has locked is locked.
  source_status    text,
  -- An operator has locked them too, which counts when the source lets them in again.
  locked_here      boolean NOT NULL DEFAULT false,
  -- A customer whom the source removed stays, with the version of the removal, so that nothing older raises
  -- them; they come back as who they were.
  removed_at       timestamptz,
  -- Whom an operator has locked is what operators look at; whom the source has locked or removed is the
  -- source's business, and there may be many of them.
  locked_by        text GENERATED ALWAYS AS (CASE
    WHEN status = 'active' THEN NULL
    WHEN locked_here OR source_status IS DISTINCT FROM 'disabled' THEN 'operator'
    WHEN removed_at IS NOT NULL THEN 'removal'
    ELSE 'source' END) STORED,
  created_at       timestamptz NOT NULL,
  updated_at       timestamptz NOT NULL,
  -- No username has the shape of an id: a word names one user at most.
  CONSTRAINT users_username_is_no_id CHECK (username !~ '^id-[a-z0-9]{12}$'),
  CONSTRAINT users_username_of_role CHECK ((strpos(username, '#') > 0) = (role IN ('member', 'test'))),
  CONSTRAINT users_test_of CHECK ((role = 'test') = (test_of IS NOT NULL)
    AND (role <> 'test' OR num_nonnulls(email, password_hash) = 0)),
  CONSTRAINT users_external_id CHECK ((source IS NULL) = (external_id IS NULL)
    AND (external_id IS NULL OR (role = 'holder' AND external_id ~ '^[A-Za-z0-9._@+:-]{1,64}$'))),
  CONSTRAINT users_source_status CHECK (source_status IN ('active', 'disabled')
    AND (source_status = 'active' OR status = 'disabled')
    AND (removed_at IS NULL OR status = 'disabled'))
);
CREATE INDEX users_by_name ON users USING gin (name_words(name));
-- For pages and for beginnings of usernames, in an order that is the same in every installation.
CREATE INDEX users_by_username ON users (username COLLATE "C");
CREATE INDEX users_active_operators ON users (id) WHERE role = 'operator' AND status = 'active';
CREATE INDEX users_by_lock ON users (locked_by, username COLLATE "C") WHERE locked_by IS NOT NULL;
CREATE INDEX users_by_email ON users (lower(email), username COLLATE "C") WHERE email IS NOT NULL;
CREATE UNIQUE INDEX users_of_source ON users (source, external_id);
CREATE INDEX users_test_of ON users (test_of) WHERE test_of IS NOT NULL;

-- Addresses that were replaced or removed: for a while they are told too, because a person who takes an
-- account over changes its address first.
CREATE TABLE former_emails (
  user_id     text NOT NULL REFERENCES users,
  email       text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
  replaced_at timestamptz NOT NULL,
  PRIMARY KEY (user_id, email)
);
CREATE INDEX former_emails_by_age ON former_emails (replaced_at);

-- Who cannot sign in, and since when: what operators look at first would otherwise have to be looked for
-- among all users. Triggers alone write it, so that no code has to; with the search path of a migration
-- (src/database/session.ts), whichever the writing session has. `must wait` is the wait after too many
-- failures; it ends by itself. Test holders are their partner's business.
CREATE TABLE locked_people (
  user_id text NOT NULL REFERENCES users,
  reason  text NOT NULL CHECK (reason IN ('locked', 'app locked', 'must wait')),
  since   timestamptz NOT NULL,
  PRIMARY KEY (user_id, reason)
);
CREATE INDEX locked_people_by_age ON locked_people (reason, since);

CREATE FUNCTION note_locked_person(who text, why text, at timestamptz) RETURNS void LANGUAGE sql
  SET search_path FROM CURRENT AS $$
  INSERT INTO locked_people AS l (user_id, reason, since) SELECT id, why, at FROM users WHERE id = who
    AND role <> 'test'
  ON CONFLICT (user_id, reason) DO UPDATE SET since = excluded.since
$$;

CREATE FUNCTION note_locked_user() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF NEW.locked_by = 'operator' THEN
    PERFORM note_locked_person(NEW.id, 'locked', NEW.updated_at);
  ELSE
    DELETE FROM locked_people WHERE user_id = NEW.id AND reason = 'locked';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER note_locked_user AFTER UPDATE OF status, locked_here, source_status ON users FOR EACH ROW
  WHEN ((OLD.locked_by IS NOT DISTINCT FROM 'operator') <> (NEW.locked_by IS NOT DISTINCT FROM 'operator'))
  EXECUTE FUNCTION note_locked_user();
CREATE TRIGGER note_locked_user_on_insert AFTER INSERT ON users FOR EACH ROW
  WHEN (NEW.locked_by = 'operator') EXECUTE FUNCTION note_locked_user();

CREATE TABLE accounts (
  account_number   text PRIMARY KEY CHECK (account_number ~ '^[A-Z0-9]{4,20}$'),
  environment      text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  classification   text NOT NULL,
  date_created     timestamptz NOT NULL,
  day_trader       boolean NOT NULL DEFAULT false,
  option_level     smallint NOT NULL DEFAULT 1 CHECK (option_level BETWEEN 1 AND 6),
  status           text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'closed')),
  type             text NOT NULL CHECK (type IN ('cash', 'margin')),
  source           text,
  external_id      text COLLATE "C",
  version          bigint,
  -- Like a customer, an account that the source removed stays.
  removed_at       timestamptz,
  -- The branch whose test holders have it.
  test_of          integer,
  last_update_date timestamptz NOT NULL,
  CONSTRAINT accounts_external_id CHECK ((source IS NULL) = (external_id IS NULL)
    AND (external_id IS NULL OR external_id ~ '^[A-Za-z0-9._@+:-]{1,64}$')),
  CONSTRAINT accounts_removed_is_closed CHECK (removed_at IS NULL OR status = 'closed'),
  CONSTRAINT accounts_test_of CHECK (test_of IS NULL OR (environment = 'sandbox' AND source IS NULL))
);
CREATE UNIQUE INDEX accounts_of_source ON accounts (source, external_id);

-- Who holds which account, and how.
CREATE TABLE holdings (
  user_id        text NOT NULL,
  account_number text NOT NULL,
  role           text NOT NULL CHECK (role IN ('owner', 'joint', 'custodian', 'adviser', 'viewer')),
  -- What this person may let applications do in this account.
  scopes         text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write', 'market', 'trade', 'stream']),
  -- One that was removed stays, with the version of the removal, so that nothing older raises it.
  status         text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended', 'removed')),
  -- The source's; null where it was made by hand.
  version        bigint CHECK (version >= 0),
  created_at     timestamptz NOT NULL,
  updated_at     timestamptz NOT NULL,
  PRIMARY KEY (user_id, account_number)
);
CREATE INDEX holdings_of_account ON holdings (account_number);

-- Every holding names a user and an account that are there. Foreign keys would ask for each row by itself and
-- write a lock into each customer and account, a third of what an import costs: this asks for all rows of a
-- statement together. Rows are found by an index, whatever the statistics of a table that was empty a moment
-- ago say.
CREATE FUNCTION holdings_check_references() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT
  SET enable_seqscan = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
  loose record;
BEGIN
  SELECT h.user_id, h.account_number, u.id IS NULL AS by_nobody, u.id IS NULL OR a.account_number IS NULL AS nothing
  INTO loose FROM added h
  LEFT JOIN LATERAL (SELECT id, role, test_of FROM users WHERE id = h.user_id OFFSET 0) AS u ON true
  LEFT JOIN LATERAL (SELECT account_number, test_of FROM accounts
    WHERE account_number = h.account_number OFFSET 0) AS a ON true
  WHERE u.id IS NULL OR a.account_number IS NULL OR u.role = 'member' OR u.test_of IS DISTINCT FROM a.test_of
  LIMIT 1;
  IF FOUND AND NOT loose.nothing THEN
    RAISE EXCEPTION USING ERRCODE = 'KIND1', MESSAGE = format('%s cannot hold account %s: test accounts are for '
      'the test holders of their partner, and somebody who joined by an invitation is no customer.',
      loose.user_id, loose.account_number);
  ELSIF FOUND THEN
    RAISE foreign_key_violation USING MESSAGE = format('holdings: there is no user %s, or no account %s',
      loose.user_id, loose.account_number),
      CONSTRAINT = CASE WHEN loose.by_nobody THEN 'holdings_user_id_fkey'
        ELSE 'holdings_account_number_fkey' END;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER holdings_check_references AFTER INSERT ON holdings
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION holdings_check_references();
CREATE TRIGGER holdings_check_references_on_update AFTER UPDATE ON holdings
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION holdings_check_references();

-- And of a statement that would delete a user or an account, which nothing here does.
CREATE FUNCTION holdings_restrict_delete() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT
  SET enable_seqscan = off SET enable_mergejoin = off SET jit = off AS $$
BEGIN
  IF EXISTS (SELECT FROM holdings WHERE user_id = to_jsonb(OLD) ->> 'id') OR EXISTS (SELECT FROM holdings
    WHERE account_number = to_jsonb(OLD) ->> 'account_number') THEN
    RAISE foreign_key_violation USING MESSAGE = format('%s: a holding names what would be gone',
      TG_TABLE_NAME);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER holdings_restrict_delete AFTER DELETE OR UPDATE OF id ON users
  FOR EACH ROW EXECUTE FUNCTION holdings_restrict_delete();
CREATE TRIGGER holdings_restrict_delete AFTER DELETE OR UPDATE OF account_number ON accounts
  FOR EACH ROW EXECUTE FUNCTION holdings_restrict_delete();

-- Of a person who is of another kind than an act is for: raised as KIND1, and told as it stands
-- (src/database/database.ts).
CREATE FUNCTION refuse_for_test_holder() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_NARGS > 0 AND NOT EXISTS (SELECT FROM public.users WHERE role = 'test'
    AND id = regexp_replace(to_jsonb(NEW) ->> TG_ARGV[0], '^user:', '')) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION USING ERRCODE = 'KIND1', MESSAGE = 'Test holders stay as they were made: their password, '
    'address and accounts cannot be changed, and they have no second factors, tokens, roles or partners.';
END $$;
CREATE TRIGGER refuse_for_test_holder BEFORE UPDATE OF username, name, email, password_hash, role, source,
    external_id, test_of ON users
  FOR EACH ROW WHEN (OLD.role = 'test') EXECUTE FUNCTION refuse_for_test_holder();
CREATE TRIGGER refuse_for_test_holder BEFORE UPDATE ON accounts
  FOR EACH ROW WHEN (OLD.test_of IS NOT NULL) EXECUTE FUNCTION refuse_for_test_holder();
-- Whatever is done to a person leaves its entry in the log: what may not be done to a test holder is refused
-- there, by whatever statement it comes. Anything but signing in and out, what applications do with what was
-- approved, and being locked out and let in.
CREATE TRIGGER refuse_for_test_holder BEFORE INSERT ON audit_entries FOR EACH ROW
  WHEN (NEW.subject LIKE 'user:%' AND NEW.action !~ '^(session|code|token)[.]'
    AND NEW.action NOT IN ('user.disabled', 'user.enabled'))
  EXECUTE FUNCTION refuse_for_test_holder('subject');

-- A personal API token belongs to the live environment, a sandbox token to the sandbox.
CREATE TABLE api_tokens (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id      text NOT NULL REFERENCES users,
  environment  text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  name         text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  scopes       text[] NOT NULL CHECK (cardinality(scopes) > 0
    AND scopes <@ ARRAY['read', 'write', 'market', 'trade', 'stream']),
  hash         bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  hint         text NOT NULL,
  created_at   timestamptz NOT NULL,
  -- Null: until it is revoked.
  expires_at   timestamptz CHECK (expires_at > created_at),
  last_used_at timestamptz,
  revoked_at   timestamptz
);
CREATE INDEX api_tokens_of_user ON api_tokens (user_id);

-- Questions that a person asks of a list again and again, under names of their own: twenty of a list at most,
-- because each has a place.
CREATE TABLE saved_views (
  user_id     text NOT NULL REFERENCES users ON DELETE CASCADE,
  environment text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  -- Of the list, without what it is asked.
  path        text NOT NULL CHECK (path ~ '^/(console|partner)(/[a-z0-9]+)+$' AND length(path) <= 100),
  place       smallint NOT NULL CHECK (place BETWEEN 1 AND 20),
  name        text NOT NULL CHECK (length(name) BETWEEN 1 AND 60),
  query       text NOT NULL CHECK (length(query) BETWEEN 1 AND 2000),
  PRIMARY KEY (user_id, environment, path, place),
  UNIQUE (user_id, environment, path, name)
);
