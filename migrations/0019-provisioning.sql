-- Customers and accounts as the brokerage's own systems know them: under whose names, held by whom and how, and as of which version.

-- Whoever an account is held by, until now one, is in a table of their own. First of all, before anything that others use is locked.
CREATE TABLE holdings (
  user_id        text NOT NULL,
  account_number text NOT NULL,
  role           text NOT NULL CHECK (role IN ('owner', 'joint', 'custodian', 'adviser', 'viewer')),
  -- What this person may let applications do in this account.
  scopes         text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write', 'market', 'trade', 'stream']),
  status         text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  -- The source's; null where it was made by hand.
  version        bigint CHECK (version >= 0),
  created_at     timestamptz NOT NULL,
  updated_at     timestamptz NOT NULL,
  PRIMARY KEY (user_id, account_number)
);
INSERT INTO holdings (user_id, account_number, role, scopes, created_at, updated_at)
SELECT user_id, account_number, 'owner', '{read,write,market,trade,stream}', date_created, last_update_date FROM accounts;
ALTER TABLE holdings ADD FOREIGN KEY (user_id) REFERENCES users NOT VALID;
ALTER TABLE holdings ADD FOREIGN KEY (account_number) REFERENCES accounts NOT VALID;
CREATE INDEX holdings_of_account ON holdings (account_number);

-- Who says so. A source belongs to one site; what one of them calls somebody says nothing to another. `heard_at` is when it last said something, `newest_at`
-- the time of its newest change, as it says itself.
CREATE TABLE sources (
  name        text PRIMARY KEY CHECK (name ~ '^[a-z][a-z0-9-]{0,29}$'),
  environment text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  heard_at    timestamptz NOT NULL,
  newest_at   timestamptz NOT NULL
);

-- Staff never has a name at a source: what provisioning finds by such a name is a customer. What the source has locked is locked; `locked_here` says that it was before.
-- A customer who was removed stays, with the version of the removal, so that nothing older raises them, and comes back as who they were.
ALTER TABLE users
  ADD COLUMN source text REFERENCES sources,
  ADD COLUMN external_id text COLLATE "C",
  ADD COLUMN version bigint,
  ADD COLUMN locale text,
  ADD COLUMN source_status text,
  ADD COLUMN locked_here boolean NOT NULL DEFAULT false,
  ADD COLUMN removed_at timestamptz;
ALTER TABLE users ADD CONSTRAINT users_external_id CHECK (
  (source IS NULL) = (external_id IS NULL) AND (external_id IS NULL OR (role = 'holder' AND external_id ~ '^[A-Za-z0-9._@+:-]{1,64}$'))) NOT VALID;
ALTER TABLE users VALIDATE CONSTRAINT users_external_id;
ALTER TABLE users ADD CONSTRAINT users_source_status CHECK (
  source_status IN ('active', 'disabled') AND (source_status = 'active' OR status = 'disabled') AND (removed_at IS NULL OR status = 'disabled')) NOT VALID;
ALTER TABLE users VALIDATE CONSTRAINT users_source_status;
CREATE UNIQUE INDEX users_of_source ON users (source, external_id);

ALTER TABLE accounts
  ADD COLUMN source text REFERENCES sources,
  ADD COLUMN external_id text COLLATE "C",
  ADD COLUMN version bigint,
  ADD COLUMN removed_at timestamptz;
ALTER TABLE accounts ADD CONSTRAINT accounts_external_id CHECK (
  (source IS NULL) = (external_id IS NULL) AND (external_id IS NULL OR external_id ~ '^[A-Za-z0-9._@+:-]{1,64}$')) NOT VALID;
ALTER TABLE accounts VALIDATE CONSTRAINT accounts_external_id;
ALTER TABLE accounts ADD CONSTRAINT accounts_removed CHECK (removed_at IS NULL OR status = 'closed') NOT VALID;
ALTER TABLE accounts VALIDATE CONSTRAINT accounts_removed;
CREATE UNIQUE INDEX accounts_of_source ON accounts (source, external_id);

-- What was removed and has no row of its own: a holding, or what was removed before anybody had heard of it. Nothing older comes after it.
CREATE TABLE tombstones (
  source     text NOT NULL REFERENCES sources,
  kind       text NOT NULL CHECK (kind IN ('customer', 'account', 'holding')),
  -- Of a holding, the customer's and the account's.
  customer   text NOT NULL COLLATE "C",
  account    text NOT NULL COLLATE "C",
  version    bigint NOT NULL,
  removed_at timestamptz NOT NULL,
  PRIMARY KEY (source, kind, customer, account),
  CHECK ((customer = '') = (kind = 'account') AND (account = '') = (kind = 'customer'))
);

-- Holdings that came before their customer or their account. They are waited for a day.
CREATE TABLE waiting_holdings (
  source   text NOT NULL REFERENCES sources,
  customer text NOT NULL COLLATE "C",
  account  text NOT NULL COLLATE "C",
  role     text NOT NULL,
  scopes   text[] NOT NULL,
  status   text NOT NULL,
  version  bigint NOT NULL,
  since    timestamptz NOT NULL,
  PRIMARY KEY (source, customer, account)
);
CREATE INDEX waiting_holdings_of_account ON waiting_holdings (source, account);
CREATE INDEX waiting_holdings_by_age ON waiting_holdings (since);

-- accounts.user_id is what nodes of the release before read and write. What they write becomes the owner's holding; there it is
-- the only one. Whoever holds no longer, or is suspended, is gone from it.
ALTER TABLE accounts ALTER COLUMN user_id DROP NOT NULL;

CREATE FUNCTION keep_owner() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  DELETE FROM holdings WHERE account_number = NEW.account_number AND role = 'owner' AND user_id IS DISTINCT FROM NEW.user_id;
  INSERT INTO holdings (user_id, account_number, role, scopes, created_at, updated_at)
  SELECT NEW.user_id, NEW.account_number, 'owner', '{read,write,market,trade,stream}', NEW.last_update_date, NEW.last_update_date
  WHERE NEW.user_id IS NOT NULL ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER keep_owner AFTER INSERT ON accounts FOR EACH ROW WHEN (NEW.user_id IS NOT NULL) EXECUTE FUNCTION keep_owner();
CREATE TRIGGER keep_new_owner AFTER UPDATE OF user_id ON accounts FOR EACH ROW
  WHEN (OLD.user_id IS DISTINCT FROM NEW.user_id AND pg_trigger_depth() = 0) EXECUTE FUNCTION keep_owner();

CREATE FUNCTION forget_owner() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE accounts SET user_id = NULL WHERE account_number = OLD.account_number AND user_id = OLD.user_id;
  RETURN NULL;
END $$;
CREATE TRIGGER forget_owner AFTER DELETE ON holdings FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION forget_owner();
CREATE TRIGGER forget_suspended AFTER UPDATE ON holdings FOR EACH ROW
  WHEN (OLD.status <> NEW.status AND NEW.status = 'suspended') EXECUTE FUNCTION forget_owner();

-- What a person holds changes what their tokens count for, with the next request on every node.
DROP TRIGGER announce ON accounts;
DROP TRIGGER announce_lost ON accounts;
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON holdings FOR EACH ROW EXECUTE FUNCTION announce_change('user', 'user_id');
CREATE TRIGGER announce_lost AFTER UPDATE ON holdings FOR EACH ROW
  WHEN (OLD.user_id IS DISTINCT FROM NEW.user_id) EXECUTE FUNCTION announce_lost_account();

CREATE FUNCTION announce_holders() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM announce(TG_ARGV[0] || ':' || user_id) FROM holdings WHERE account_number = NEW.account_number;
  RETURN NULL;
END $$;
CREATE TRIGGER announce AFTER UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION announce_holders('user');

ALTER TABLE notices DROP CONSTRAINT notices_kind_check;
ALTER TABLE notices ADD CONSTRAINT notices_kind_check CHECK (kind IN (
  'sign-in', 'application', 'address', 'password', 'second-factor', 'recovery-codes', 'api-token',
  'webhook-failing', 'webhook-disabled', 'secret-expiring', 'partner-decided', 'partner-message', 'invitation', 'member-joined', 'access-ended')) NOT VALID;

-- Accounts that people lost leave every authorization of theirs, for good; what has no account left ends. The partner learns of it by the events of the
-- authorizations, the person by a notice. Whoever comes back to an account has to allow applications again.
CREATE FUNCTION leave_authorizations(user_ids text[], account_numbers text[], reason text, actor text, moment timestamptz)
RETURNS integer LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  narrowed integer;
BEGIN
  WITH lost AS (
    SELECT l.user_id, array_agg(l.account_number) AS numbers FROM unnest($1, $2) AS l (user_id, account_number) GROUP BY l.user_id),
  changed AS (
    UPDATE authorizations a SET
      account_numbers = CASE WHEN a.account_numbers <@ lost.numbers THEN a.account_numbers
        ELSE ARRAY(SELECT n FROM unnest(a.account_numbers) AS n WHERE n <> ALL (lost.numbers)) END,
      revoked_at = CASE WHEN a.account_numbers <@ lost.numbers THEN moment END,
      revoked_reason = CASE WHEN a.account_numbers <@ lost.numbers THEN reason END,
      updated_at = moment
    FROM lost WHERE a.user_id = lost.user_id AND a.revoked_at IS NULL AND a.account_numbers && lost.numbers
    RETURNING a.id, a.user_id, a.client_id, a.revoked_at IS NOT NULL AS ended,
      ARRAY(SELECT n FROM unnest(lost.numbers) AS n ORDER BY n) AS numbers),
  entered AS (
    INSERT INTO audit_entries (at, actor, action, subject, environment, details)
    SELECT moment, actor, CASE WHEN ended THEN 'authorization.revoked' ELSE 'authorization.narrowed' END, 'client:' || client_id, c.environment,
      jsonb_build_object('authorizationId', x.id, 'userId', x.user_id, 'reason', reason, 'accountNumbers', x.numbers)
    FROM changed x JOIN clients c ON c.id = x.client_id),
  told AS (
    INSERT INTO notices (user_id, email, kind, key, facts, created_at, due_at)
    SELECT x.user_id, u.email, 'access-ended', format('access-ended:%s:%s', x.id, pg_current_xact_id()),
      jsonb_build_object('environment', c.environment, 'client', c.name, 'partner', p.name, 'accounts', x.numbers, 'ended', x.ended, 'reason', reason),
      moment, moment
    FROM changed x JOIN users u ON u.id = x.user_id JOIN clients c ON c.id = x.client_id JOIN partners p USING (branch_id)
    WHERE u.email IS NOT NULL ON CONFLICT (key) DO NOTHING)
  SELECT count(*) INTO narrowed FROM changed;
  RETURN narrowed;
END $$;
