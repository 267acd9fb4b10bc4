-- What the brokerage's own systems say of customers, accounts and holdings: as records, by version, one by
-- one, in batches or in files. src/provisioning says what a record is; docs/provisioning.md tells it whole.
--
-- Functions here have the tables of this schema, whatever the caller has of the same name, a temporary one
-- above all. And they find rows by an index, whatever the statistics of a table that was empty a moment ago
-- say, also in sessions of the core, which have other settings than ours.

-- A system that says so. A source belongs to one site, and is named before it says anything; what one of them
-- calls a customer says nothing to another. `heard_at` is when it last said something, `newest_at` the time
-- of its newest change, as it says itself; null where it has not.
CREATE TABLE sources (
  name        text PRIMARY KEY CHECK (name ~ '^[a-z][a-z0-9-]{0,29}$'),
  environment text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  heard_at    timestamptz,
  newest_at   timestamptz
);
-- Those of a house with one core (src/vocabulary/source.ts).
INSERT INTO sources (name, environment) VALUES ('core', 'live'), ('sandbox', 'sandbox');

-- Which roles of the database may speak for which of them, by provision().
CREATE TABLE source_roles (
  source text NOT NULL REFERENCES sources,
  role   text NOT NULL,
  PRIMARY KEY (source, role)
);

-- What was removed before a record of it had come. Nothing older comes after it.
CREATE TABLE tombstones (
  source      text NOT NULL REFERENCES sources,
  kind        text NOT NULL CHECK (kind IN ('customer', 'account')),
  external_id text NOT NULL COLLATE "C",
  version     bigint NOT NULL,
  removed_at  timestamptz NOT NULL,
  PRIMARY KEY (source, kind, external_id)
);

-- Holdings that came before their customer or their account. They wait a day; removed ones, until both are
-- there.
CREATE TABLE waiting_holdings (
  source   text NOT NULL REFERENCES sources,
  customer text NOT NULL COLLATE "C",
  account  text NOT NULL COLLATE "C",
  role     text NOT NULL,
  scopes   text[] NOT NULL,
  status   text NOT NULL CHECK (status IN ('active', 'suspended', 'removed')),
  version  bigint NOT NULL,
  since    timestamptz NOT NULL,
  PRIMARY KEY (source, customer, account)
);
CREATE INDEX waiting_holdings_of_account ON waiting_holdings (source, account);
CREATE INDEX waiting_holdings_by_age ON waiting_holdings (since) WHERE status <> 'removed';

-- Files of records. An import has committed all of its lines up to `lines`, and can go on from there after
-- whatever cut it.
CREATE TABLE imports (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  source      text NOT NULL,
  environment text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  mode        text NOT NULL CHECK (mode IN ('changes', 'snapshot')),
  dry_run     boolean NOT NULL,
  -- Of a snapshot: what is newer than this is not missing from it. Null: what was said since it began.
  as_of       bigint,
  state       text NOT NULL DEFAULT 'running'
    CHECK (state IN ('running', 'needs approval', 'removing', 'finished', 'stopped')),
  lines       bigint NOT NULL DEFAULT 0,
  -- Its last line has come, and says as many records as were read. No snapshot is compared before.
  complete    boolean NOT NULL DEFAULT false,
  bytes       bigint NOT NULL DEFAULT 0,
  total_bytes bigint,
  created     bigint NOT NULL DEFAULT 0,
  changed     bigint NOT NULL DEFAULT 0,
  removed     bigint NOT NULL DEFAULT 0,
  unchanged   bigint NOT NULL DEFAULT 0,
  skipped     bigint NOT NULL DEFAULT 0,
  waiting     bigint NOT NULL DEFAULT 0,
  failed      bigint NOT NULL DEFAULT 0,
  -- What a snapshot would remove, of how many.
  missing     bigint,
  known       bigint,
  actor       text NOT NULL,
  request_id  text,
  started_at  timestamptz NOT NULL,
  updated_at  timestamptz NOT NULL,
  finished_at timestamptz,
  CHECK ((state IN ('finished', 'stopped')) = (finished_at IS NOT NULL))
);
CREATE INDEX imports_by_end ON imports (finished_at);
CREATE INDEX imports_in_removal ON imports (id) WHERE state = 'removing';
CREATE INDEX imports_needing_approval ON imports (id) WHERE state = 'needs approval';

-- The first thousand of an import.
CREATE TABLE import_faults (
  import_id bigint NOT NULL REFERENCES imports ON DELETE CASCADE,
  line      bigint NOT NULL,
  field     text NOT NULL,
  problem   text NOT NULL,
  PRIMARY KEY (import_id, line)
);

-- What a snapshot has, a row for each batch and part of the source; what is known, while the two are
-- compared; and what is known and it does not have. Marks are hashes of kind and key with a space between,
-- keys are the same in words. Of a holding the key is customer and account with a space between.
CREATE TABLE import_seen (
  import_id bigint NOT NULL,
  part      smallint NOT NULL,
  marks     bigint[] NOT NULL
);
CREATE INDEX import_seen_of_part ON import_seen (import_id, part);
CREATE TABLE import_known (
  import_id bigint NOT NULL,
  part      smallint NOT NULL,
  keys      text[] NOT NULL
);
CREATE INDEX import_known_of_part ON import_known (import_id, part);
CREATE TABLE import_missing (
  import_id bigint NOT NULL,
  kind      text NOT NULL CHECK (kind IN ('customer', 'account', 'holding')),
  key       text NOT NULL COLLATE "C",
  PRIMARY KEY (import_id, kind, key)
);

-- ---- sources ----

CREATE FUNCTION unknown_source_message(source text) RETURNS text LANGUAGE sql IMMUTABLE
  RETURN format('There is no source "%s". Name it first: countersign source create %1$s', source);

-- As the command line does it, or the owner of the tables: SELECT create_source('crm', 'live').
CREATE FUNCTION create_source(source text, environment text, actor text DEFAULT session_actor(),
  moment timestamptz DEFAULT clock_timestamp())
RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT
  SET enable_seqscan = off SET enable_mergejoin = off SET jit = off AS $$
BEGIN
  INSERT INTO sources (name, environment) VALUES ($1, $2);
  INSERT INTO audit_entries (at, actor, action, subject, environment, details)
    VALUES ($4, $3, 'source.created', 'source:' || $1, $2, '{}');
EXCEPTION WHEN unique_violation THEN
  RAISE unique_violation USING MESSAGE = format('There is a source "%s" already.', $1);
END $$;

-- Lets a role of the database speak for it, or no longer: SELECT set_source_role('crm', 'crm_system', true).
CREATE FUNCTION set_source_role(source text, role text, may boolean, actor text DEFAULT session_actor(),
  moment timestamptz DEFAULT clock_timestamp())
RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT
  SET enable_seqscan = off SET enable_mergejoin = off SET jit = off AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM sources s WHERE s.name = $1) THEN
    RAISE undefined_object USING MESSAGE = unknown_source_message($1); END IF;
  IF may AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = $2) THEN
    RAISE undefined_object USING MESSAGE = format('There is no database role "%s". Create it first.', $2);
  END IF;
  IF may THEN
    INSERT INTO source_roles VALUES ($1, $2) ON CONFLICT DO NOTHING;
  ELSE
    DELETE FROM source_roles r WHERE r.source = $1 AND r.role = $2;
  END IF;
  IF FOUND THEN
    INSERT INTO audit_entries (at, actor, action, subject, environment, details)
    SELECT $5, $4, CASE WHEN may THEN 'source.role_allowed' ELSE 'source.role_withdrawn' END, 'source:' || $1,
      s.environment, jsonb_build_object('role', $2)
    FROM sources s WHERE s.name = $1;
  END IF;
END $$;

-- ---- merging ----

-- Accounts that people lost leave every authorization of theirs, for good; what has no account left ends. The
-- partner learns of it by the events of the authorizations, the person by a notice. A person who comes back
-- to an account has to allow applications again. An account number `*` stands for all of a person's.
CREATE FUNCTION narrow_authorizations(user_ids text[], account_numbers text[], reason text, actor text,
  moment timestamptz)
RETURNS integer LANGUAGE plpgsql SET search_path FROM CURRENT
  SET enable_seqscan = off SET enable_mergejoin = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  narrowed integer;
BEGIN
  WITH lost AS (
    SELECT l.user_id, array_agg(l.account_number) AS numbers
    FROM unnest($1, $2) AS l (user_id, account_number) GROUP BY l.user_id),
  changed AS (
    UPDATE authorizations a SET
      account_numbers = CASE WHEN a.account_numbers <@ lost.numbers OR '*' = ANY (lost.numbers)
        THEN a.account_numbers
        ELSE ARRAY(SELECT n FROM unnest(a.account_numbers) AS n WHERE n <> ALL (lost.numbers)) END,
      revoked_at = CASE WHEN a.account_numbers <@ lost.numbers OR '*' = ANY (lost.numbers) THEN moment END,
      revoked_reason = CASE WHEN a.account_numbers <@ lost.numbers OR '*' = ANY (lost.numbers)
        THEN reason END
    FROM lost CROSS JOIN LATERAL (
      SELECT x.id FROM authorizations x WHERE x.user_id = lost.user_id AND x.revoked_at IS NULL
        AND (x.account_numbers && lost.numbers OR '*' = ANY (lost.numbers)) OFFSET 0) AS found
    -- By id, and judged again: one that another transaction changes at this moment is found where it is after
    -- that.
    WHERE a.id = found.id AND a.revoked_at IS NULL
      AND (a.account_numbers && lost.numbers OR '*' = ANY (lost.numbers))
    RETURNING a.id, a.user_id, a.client_id, a.revoked_at IS NOT NULL AS ended,
      ARRAY(SELECT n FROM unnest(lost.numbers) AS n WHERE n <> '*' ORDER BY n) AS numbers),
  entered AS (
    INSERT INTO audit_entries (at, actor, action, subject, environment, details)
    SELECT moment, actor, CASE WHEN ended THEN 'authorization.revoked' ELSE 'authorization.narrowed' END,
      'client:' || client_id, c.environment,
      jsonb_build_object('authorizationId', x.id, 'userId', x.user_id, 'reason', reason,
        'accountNumbers', x.numbers)
    FROM changed x JOIN clients c ON c.id = x.client_id),
  told AS (
    INSERT INTO notices (user_id, email, kind, key, facts, created_at, due_at)
    SELECT x.user_id, u.email, 'access-ended', format('access-ended:%s:%s', x.id, pg_current_xact_id()),
      jsonb_build_object('environment', c.environment, 'client', c.name, 'partner', p.name,
        'accounts', x.numbers, 'ended', x.ended, 'reason', reason),
      moment, moment
    FROM changed x JOIN users u ON u.id = x.user_id JOIN clients c ON c.id = x.client_id
      JOIN partners p USING (branch_id)
    WHERE u.email IS NOT NULL ON CONFLICT (key) DO NOTHING)
  SELECT count(*) INTO narrowed FROM changed;
  RETURN narrowed;
END $$;

-- A record of a source, as its fields are called in the interface. `line` is its place among those that came
-- with it. Beside `upsert` and `remove` there is `absent`: a snapshot does not have what it should, and
-- nothing newer is known of it.
CREATE TYPE provisioned AS (
  line bigint, kind text, op text, version bigint, "changedAt" timestamptz, "externalId" text, status text,
  name text, username text, email text, locale text,
  number text, type text, classification text, "optionLevel" smallint, "dayTrader" boolean,
    "openedAt" timestamptz,
  customer text, account text, role text, "mayAuthorize" text[]);

-- Of the random bytes of a UUID, without those that say what it is. An expression alone: it becomes part of
-- the statement that asks.
CREATE FUNCTION new_user_id() RETURNS text LANGUAGE sql VOLATILE PARALLEL SAFE
  RETURN 'id-' || translate(lower(encode(substr(
    overlay(uuid_send(gen_random_uuid()) PLACING ''::bytea FROM 7 FOR 3), 1, 9), 'base64')), '+/', 'ab');

-- Without the spaces around it, whichever of Unicode's they are: what JavaScript's trim() leaves of a text
-- that has no line breaks.
CREATE FUNCTION without_margins(words text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN btrim(words, E' \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a'
    '\u202f\u205f\u3000');

CREATE FUNCTION scopes_of_role(role text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE role
    WHEN 'adviser' THEN ARRAY['read', 'market', 'stream']
    WHEN 'viewer' THEN ARRAY['read', 'market']
    ELSE ARRAY['read', 'write', 'market', 'trade', 'stream'] END;

-- Customers: those without fault are written, by their version. What they lose with it is told to the caller.
CREATE FUNCTION merge_customers(source text, rows provisioned[], actor text, moment timestamptz,
  OUT outcomes jsonb, OUT made text[], OUT gone text[], OUT trace jsonb)
LANGUAGE plpgsql SET search_path FROM CURRENT
  SET enable_seqscan = off SET enable_mergejoin = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  locked text[];
  unlocked text[];
  has_graves boolean := EXISTS (SELECT FROM tombstones t WHERE t.source = $1);
BEGIN
  WITH judged AS MATERIALIZED (
    SELECT r.*, u.id AS user_id, u.name AS old_name, u.email AS old_email, u.username AS old_username,
      u.locale AS old_locale, u.source_status AS old_status, t.grave,
      coalesce(lower(r.username), u.username, lower($1 || ':' || r."externalId")) AS called,
      CASE WHEN greatest(u.version, t.version) > r.version THEN 'skipped'
        WHEN greatest(u.version, t.version) = r.version AND (r.op <> 'absent' OR u.removed_at IS NOT NULL)
          THEN 'unchanged'
        WHEN r.op <> 'upsert' THEN 'removed'
        WHEN u.id IS NULL THEN 'created'
        ELSE 'changed' END AS what
    FROM unnest(rows) AS r
    LEFT JOIN LATERAL (SELECT * FROM users
      WHERE users.source = $1 AND external_id = r."externalId" OFFSET 0) AS u ON true
    LEFT JOIN LATERAL (SELECT version, ctid AS grave FROM tombstones g WHERE has_graves AND g.source = $1
      AND g.kind = 'customer' AND external_id = r."externalId" OFFSET 0) AS t ON true
    WHERE r.kind = 'customer'),
  doubled AS MATERIALIZED (
    SELECT called, min(line) AS first FROM judged WHERE what IN ('created', 'changed')
    GROUP BY called HAVING count(*) > 1),
  faults AS MATERIALIZED (
    SELECT j.line FROM judged j
    CROSS JOIN LATERAL (SELECT FROM users x
      WHERE x.username = j.called AND x.id IS DISTINCT FROM j.user_id OFFSET 0) AS taken
    WHERE j.what IN ('created', 'changed')
    UNION
    SELECT j.line FROM doubled d CROSS JOIN judged j
    WHERE j.called = d.called AND j.line > d.first AND j.what IN ('created', 'changed')),
  written AS (
    INSERT INTO users AS u (id, username, name, email, locale, role, status, source, external_id, version,
      source_status, removed_at, created_at, updated_at)
    SELECT coalesce(user_id, new_user_id()), called, coalesce(without_margins(name), old_name),
      CASE WHEN email = '' THEN NULL ELSE coalesce(email, old_email) END,
      locale, 'holder', said, $1, "externalId", version, said, CASE WHEN what = 'removed' THEN moment END,
      moment, moment
    FROM judged, LATERAL (SELECT CASE WHEN what = 'removed' THEN 'disabled'
      ELSE coalesce(status, 'active') END AS said) AS s
    WHERE (what IN ('created', 'changed') OR (what = 'removed' AND user_id IS NOT NULL))
      AND line NOT IN (SELECT line FROM faults) ORDER BY "externalId" COLLATE "C"
    ON CONFLICT (source, external_id) DO UPDATE SET
      username = excluded.username, name = excluded.name, email = excluded.email,
      locale = coalesce(excluded.locale, u.locale), version = excluded.version,
      source_status = excluded.source_status, removed_at = excluded.removed_at,
      updated_at = excluded.updated_at,
      status = CASE WHEN excluded.source_status = 'disabled' THEN 'disabled'
        WHEN u.source_status = 'disabled' AND NOT u.locked_here THEN 'active'
        ELSE u.status END,
      -- A person may have locked them in SQL, by the status alone: one who is locked, and not by the source,
      -- is locked here.
      locked_here = u.status = 'disabled'
        AND (u.locked_here OR coalesce(u.source_status, 'active') = 'active')
    WHERE u.version IS NULL OR u.version < excluded.version OR (u.version = excluded.version
      AND u.removed_at IS NULL AND excluded.removed_at IS NOT NULL)
    RETURNING u.id, u.external_id, u.status, u.removed_at),
  -- Those whom the source locked, and those whom it let in again, as they were before.
  turned AS (
    SELECT w.id, w.status FROM written w
    CROSS JOIN LATERAL (SELECT FROM users old
      WHERE old.id = w.id AND old.status <> w.status OFFSET 0) AS before
    WHERE w.removed_at IS NULL AND w.id IN (SELECT user_id FROM judged WHERE what = 'changed')),
  buried AS (
    INSERT INTO tombstones AS t (source, kind, external_id, version, removed_at)
    SELECT $1, 'customer', "externalId", version, moment FROM judged
    WHERE what = 'removed' AND user_id IS NULL
    ON CONFLICT ON CONSTRAINT tombstones_pkey DO UPDATE
      SET version = excluded.version, removed_at = excluded.removed_at WHERE t.version < excluded.version),
  raised AS (
    DELETE FROM tombstones WHERE ctid = ANY (ARRAY(
      SELECT grave FROM judged WHERE what = 'created' AND line NOT IN (SELECT line FROM faults)))),
  -- What was written, by the names of the fields that it changes.
  traced AS (
    SELECT what, fields, jsonb_agg("externalId" ORDER BY line) AS ids FROM judged
    CROSS JOIN LATERAL (SELECT CASE WHEN what = 'changed' THEN array_remove(ARRAY[
      CASE WHEN without_margins(name) IS DISTINCT FROM old_name THEN 'name' END,
      CASE WHEN called IS DISTINCT FROM old_username THEN 'username' END,
      CASE WHEN nullif(email, '') IS DISTINCT FROM old_email AND email IS NOT NULL THEN 'email' END,
      CASE WHEN locale <> coalesce(old_locale, '') THEN 'locale' END,
      CASE WHEN coalesce(status, 'active') <> coalesce(old_status, 'active') THEN 'status' END],
      NULL) END AS fields) AS f
    WHERE "externalId" IN (SELECT external_id FROM written) OR (what = 'removed' AND user_id IS NULL)
    GROUP BY what, fields)
  SELECT jsonb_build_object(
      'counts', (SELECT jsonb_object_agg(what, n) FROM (
        SELECT CASE WHEN line IN (SELECT line FROM faults) THEN 'failed' ELSE what END AS what, count(*) AS n
        FROM judged GROUP BY 1) AS c),
      'faults', (SELECT jsonb_agg(jsonb_build_object('line', line, 'field', 'username',
        'problem', 'is taken by somebody else: give another') ORDER BY line) FROM faults)),
    ARRAY(SELECT "externalId" FROM judged WHERE what = 'created'),
    ARRAY(SELECT id FROM written WHERE removed_at IS NOT NULL),
    ARRAY(SELECT id FROM turned WHERE status = 'disabled'),
    ARRAY(SELECT id FROM turned WHERE status = 'active'),
    (SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object('kind', 'customer', 'outcome', what,
      'fields', to_jsonb(fields), 'ids', ids)) ORDER BY what, fields) FROM traced)
  INTO outcomes, made, gone, locked, unlocked, trace;

  IF cardinality(gone) > 0 THEN
    PERFORM narrow_authorizations(gone, array_fill('*'::text, ARRAY[cardinality(gone)]), 'customer removed',
      actor, moment);
    UPDATE api_tokens SET revoked_at = moment WHERE user_id = ANY (gone) AND revoked_at IS NULL;
    DELETE FROM saved_views WHERE user_id = ANY (gone);
  END IF;
  IF cardinality(gone || locked || unlocked) > 0 THEN
    DELETE FROM sessions WHERE user_id = ANY (gone || locked);
    INSERT INTO audit_entries (at, actor, action, subject, environment, details)
    SELECT moment, $3, t.action, 'user:' || t.id, s.environment, jsonb_build_object('source', $1)
    FROM sources s, (SELECT unnest(gone) AS id, 'user.removed' AS action
      UNION ALL SELECT unnest(locked), 'user.disabled_by_source'
      UNION ALL SELECT unnest(unlocked), 'user.enabled_by_source') AS t WHERE s.name = $1;
  END IF;
END $$;

CREATE FUNCTION merge_accounts(source text, environment text, rows provisioned[], actor text,
  moment timestamptz, OUT outcomes jsonb, OUT made text[], OUT trace jsonb)
LANGUAGE plpgsql SET search_path FROM CURRENT
  SET enable_seqscan = off SET enable_mergejoin = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  closed text[];
  losers text[];
  lost text[];
  has_graves boolean := EXISTS (SELECT FROM tombstones t WHERE t.source = $1);
BEGIN
  WITH judged AS MATERIALIZED (
    SELECT r.*, a.account_number AS known, a.type AS old_type, a.classification AS old_classification,
      a.option_level, a.day_trader, a.date_created, a.status AS old_status, t.grave,
      CASE WHEN greatest(a.version, t.version) > r.version THEN 'skipped'
        WHEN greatest(a.version, t.version) = r.version AND (r.op <> 'absent' OR a.removed_at IS NOT NULL)
          THEN 'unchanged'
        WHEN r.op <> 'upsert' THEN 'removed'
        WHEN a.account_number IS NULL THEN 'created'
        ELSE 'changed' END AS what
    FROM unnest(rows) AS r
    LEFT JOIN LATERAL (SELECT * FROM accounts
      WHERE accounts.source = $1 AND external_id = r."externalId" OFFSET 0) AS a ON true
    LEFT JOIN LATERAL (SELECT version, ctid AS grave FROM tombstones g WHERE has_graves AND g.source = $1
      AND g.kind = 'account' AND external_id = r."externalId" OFFSET 0) AS t ON true
    WHERE r.kind = 'account'),
  doubled AS MATERIALIZED (
    SELECT number, min(line) AS first FROM judged WHERE what = 'created'
    GROUP BY number HAVING count(*) > 1),
  faults AS MATERIALIZED (
    SELECT line, 'cannot change: it was ' || known || '. Remove this account, and open another' AS problem
    FROM judged WHERE what = 'changed' AND number <> known
    UNION ALL
    SELECT j.line, 'is the number of another account: give its own' FROM judged j
    CROSS JOIN LATERAL (SELECT FROM accounts x WHERE x.account_number = j.number OFFSET 0) AS taken
    WHERE j.what = 'created'
    UNION ALL
    SELECT j.line, 'is the number of another account: give its own' FROM doubled d CROSS JOIN judged j
    WHERE j.number = d.number AND j.line > d.first AND j.what = 'created'),
  written AS (
    INSERT INTO accounts AS a (account_number, environment, classification, date_created, day_trader,
      option_level, status, type, last_update_date, source, external_id, version, removed_at)
    SELECT coalesce(number, known), $2,
      CASE WHEN what = 'removed' THEN old_classification
        ELSE coalesce(without_margins(classification), 'individual') END,
      coalesce("openedAt", date_created, moment),
      CASE WHEN what = 'removed' THEN day_trader ELSE coalesce("dayTrader", false) END,
      CASE WHEN what = 'removed' THEN option_level ELSE coalesce("optionLevel", 1) END,
      CASE WHEN what = 'removed' THEN 'closed' ELSE coalesce(status, 'active') END,
      coalesce(type, old_type), moment, $1, "externalId", version, CASE WHEN what = 'removed' THEN moment END
    FROM judged
    WHERE (what IN ('created', 'changed') OR (what = 'removed' AND known IS NOT NULL))
      AND line NOT IN (SELECT line FROM faults) ORDER BY "externalId" COLLATE "C"
    ON CONFLICT (source, external_id) DO UPDATE SET
      classification = excluded.classification, date_created = excluded.date_created,
      day_trader = excluded.day_trader, option_level = excluded.option_level, status = excluded.status,
      type = excluded.type, last_update_date = excluded.last_update_date, version = excluded.version,
      removed_at = excluded.removed_at
    WHERE a.version IS NULL OR a.version < excluded.version OR (a.version = excluded.version
      AND a.removed_at IS NULL AND excluded.removed_at IS NOT NULL)
    RETURNING a.account_number, a.external_id, a.status),
  buried AS (
    INSERT INTO tombstones AS t (source, kind, external_id, version, removed_at)
    SELECT $1, 'account', "externalId", version, moment FROM judged WHERE what = 'removed' AND known IS NULL
    ON CONFLICT ON CONSTRAINT tombstones_pkey DO UPDATE
      SET version = excluded.version, removed_at = excluded.removed_at WHERE t.version < excluded.version),
  raised AS (
    DELETE FROM tombstones WHERE ctid = ANY (ARRAY(
      SELECT grave FROM judged WHERE what = 'created' AND line NOT IN (SELECT line FROM faults)))),
  traced AS (
    SELECT what, fields, jsonb_agg("externalId" ORDER BY line) AS ids FROM judged
    CROSS JOIN LATERAL (SELECT CASE WHEN what = 'changed' THEN array_remove(ARRAY[
      CASE WHEN type <> old_type THEN 'type' END,
      CASE WHEN coalesce(without_margins(classification), 'individual') <> old_classification
        THEN 'classification' END,
      CASE WHEN coalesce(status, 'active') <> old_status THEN 'status' END,
      CASE WHEN coalesce("optionLevel", 1) <> option_level THEN 'optionLevel' END,
      CASE WHEN coalesce("dayTrader", false) <> day_trader THEN 'dayTrader' END,
      CASE WHEN "openedAt" <> date_created THEN 'openedAt' END],
      NULL) END AS fields) AS f
    WHERE "externalId" IN (SELECT external_id FROM written) OR (what = 'removed' AND known IS NULL)
    GROUP BY what, fields)
  SELECT jsonb_build_object(
      'counts', (SELECT jsonb_object_agg(what, n) FROM (
        SELECT CASE WHEN line IN (SELECT line FROM faults) THEN 'failed' ELSE what END AS what, count(*) AS n
        FROM judged GROUP BY 1) AS c),
      'faults', (SELECT jsonb_agg(jsonb_build_object('line', line, 'field', 'number', 'problem', problem)
        ORDER BY line) FROM faults)),
    ARRAY(SELECT "externalId" FROM judged WHERE what = 'created'),
    ARRAY(SELECT w.account_number FROM written w WHERE w.status = 'closed'),
    (SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object('kind', 'account', 'outcome', what,
      'fields', to_jsonb(fields), 'ids', ids)) ORDER BY what, fields) FROM traced)
  INTO outcomes, made, closed, trace;

  IF cardinality(closed) > 0 THEN
    SELECT array_agg(h.user_id), array_agg(h.account_number) INTO losers, lost FROM holdings h
    WHERE h.account_number = ANY (closed);
    PERFORM narrow_authorizations(losers, lost, 'account closed', actor, moment);
  END IF;
END $$;

CREATE FUNCTION merge_holdings(source text, rows provisioned[], actor text, moment timestamptz,
  OUT outcomes jsonb, OUT trace jsonb)
LANGUAGE plpgsql SET search_path FROM CURRENT
  SET enable_seqscan = off SET enable_mergejoin = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  losers text[];
  lost text[];
  has_waiting boolean := EXISTS (SELECT FROM waiting_holdings w WHERE w.source = $1);
BEGIN
  WITH judged AS MATERIALIZED (
    SELECT r.*, u.id AS user_id, a.account_number, w.place, h.role AS old_role, h.scopes AS old_scopes,
      h.status AS old_status,
      CASE WHEN r.op <> 'upsert' THEN 'removed' ELSE coalesce(r.status, 'active') END AS state,
      CASE WHEN greatest(h.version, w.version) > r.version THEN 'skipped'
        WHEN greatest(h.version, w.version) = r.version AND (r.op <> 'absent' OR h.status = 'removed')
          THEN 'unchanged'
        WHEN u.id IS NULL OR a.account_number IS NULL
          THEN CASE WHEN r.op = 'remove' THEN 'removed' ELSE 'waiting' END
        WHEN r.op <> 'upsert' THEN 'removed'
        WHEN h.user_id IS NULL THEN 'created'
        ELSE 'changed' END AS what
    FROM unnest(rows) AS r
    LEFT JOIN LATERAL (SELECT id FROM users
      WHERE users.source = $1 AND external_id = r.customer OFFSET 0) AS u ON true
    LEFT JOIN LATERAL (SELECT account_number FROM accounts
      WHERE accounts.source = $1 AND external_id = r.account OFFSET 0) AS a ON true
    LEFT JOIN LATERAL (SELECT user_id, version, status, role, scopes FROM holdings k
      WHERE k.user_id = u.id AND k.account_number = a.account_number OFFSET 0) AS h ON true
    LEFT JOIN LATERAL (SELECT version, ctid AS place FROM waiting_holdings k
      WHERE has_waiting AND k.source = $1 AND k.customer = r.customer AND k.account = r.account OFFSET 0) AS w
      ON true
    WHERE r.kind = 'holding'),
  applied AS MATERIALIZED (
    SELECT *, coalesce("mayAuthorize", scopes_of_role(role)) AS scopes FROM judged
    WHERE what NOT IN ('skipped', 'unchanged')),
  kept AS (
    INSERT INTO waiting_holdings AS w (source, customer, account, role, scopes, status, version, since)
    SELECT $1, customer, account, coalesce(role, 'viewer'), scopes, state, version, moment FROM applied
    WHERE user_id IS NULL OR account_number IS NULL
    ON CONFLICT ON CONSTRAINT waiting_holdings_pkey DO UPDATE SET
      role = excluded.role, scopes = excluded.scopes, status = excluded.status, version = excluded.version,
      since = excluded.since
    WHERE w.version < excluded.version),
  settled AS (
    DELETE FROM waiting_holdings WHERE ctid = ANY (ARRAY(
      SELECT place FROM applied WHERE user_id IS NOT NULL AND account_number IS NOT NULL))),
  written AS (
    INSERT INTO holdings AS h (user_id, account_number, role, scopes, status, version, created_at, updated_at)
    SELECT user_id, account_number, coalesce(role, 'viewer'),
      CASE WHEN op <> 'upsert' THEN '{}' ELSE scopes END, state, version, moment, moment
    FROM applied WHERE user_id IS NOT NULL AND account_number IS NOT NULL
    ORDER BY user_id COLLATE "C", account_number COLLATE "C"
    ON CONFLICT (user_id, account_number) DO UPDATE SET
      role = CASE WHEN excluded.status = 'removed' THEN h.role ELSE excluded.role END,
      scopes = excluded.scopes, status = excluded.status, version = excluded.version,
      updated_at = excluded.updated_at
    WHERE h.version IS NULL OR h.version < excluded.version OR (excluded.status = 'removed'
      AND h.version = excluded.version)
    RETURNING h.user_id, h.account_number, h.status),
  traced AS (
    SELECT what, fields, jsonb_agg(customer || '/' || account ORDER BY line) AS ids FROM applied
    CROSS JOIN LATERAL (SELECT CASE WHEN what = 'changed' THEN array_remove(ARRAY[
      CASE WHEN role <> old_role THEN 'role' END,
      CASE WHEN NOT (scopes <@ old_scopes AND scopes @> old_scopes) THEN 'mayAuthorize' END,
      CASE WHEN state <> old_status THEN 'status' END],
      NULL) END AS fields) AS f
    WHERE user_id IS NULL OR account_number IS NULL
      OR (user_id, account_number) IN (SELECT user_id, account_number FROM written) GROUP BY what, fields)
  SELECT jsonb_build_object('counts', (SELECT jsonb_object_agg(what, n) FROM (
      SELECT what, count(*) AS n FROM judged WHERE line IS NOT NULL GROUP BY 1) AS c)),
    (SELECT array_agg(user_id) FROM written WHERE status = 'removed'),
    (SELECT array_agg(account_number) FROM written WHERE status = 'removed'),
    (SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object('kind', 'holding', 'outcome', what,
      'fields', to_jsonb(fields), 'ids', ids)) ORDER BY what, fields) FROM traced)
  INTO outcomes, losers, lost, trace;
  IF losers IS NOT NULL THEN
    PERFORM narrow_authorizations(losers, lost, 'account no longer held', actor, moment);
  END IF;
END $$;

-- Holdings that have waited, of which customer and account have come: as records again.
CREATE FUNCTION take_waiting_holdings(source text, customers text[], accounts text[]) RETURNS provisioned[]
  LANGUAGE sql SET search_path FROM CURRENT
  SET enable_seqscan = off SET enable_mergejoin = off SET jit = off AS $$
  WITH taken AS (
    DELETE FROM waiting_holdings w WHERE w.ctid = ANY (ARRAY(
      SELECT k.place FROM (
        SELECT ctid AS place, customer, account FROM waiting_holdings k
        WHERE k.source = $1 AND k.customer = ANY ($2)
        UNION SELECT ctid, customer, account FROM waiting_holdings k
        WHERE k.source = $1 AND k.account = ANY ($3)) AS k
      CROSS JOIN LATERAL (SELECT FROM users
        WHERE users.source = $1 AND external_id = k.customer OFFSET 0) AS u
      CROSS JOIN LATERAL (SELECT FROM accounts
        WHERE accounts.source = $1 AND external_id = k.account OFFSET 0) AS a))
    RETURNING w.customer, w.account, w.role, w.scopes, w.status, w.version)
  SELECT array_agg(jsonb_populate_record(NULL::provisioned, jsonb_build_object('kind', 'holding',
    'op', CASE WHEN status = 'removed' THEN 'remove' ELSE 'upsert' END,
    'customer', customer, 'account', account, 'role', role, 'mayAuthorize', scopes,
    'status', nullif(status, 'removed'), 'version', version))) FROM taken
$$;

-- What a source changed, in the log: of one record by itself, what came of it; of those that came together
-- one entry, with the ids of all and the fields that changed.
CREATE FUNCTION record_merge(source text, environment text, records provisioned[], trace jsonb, counts jsonb,
  actor text, moment timestamptz, how jsonb)
RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT
  SET enable_seqscan = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
  one jsonb := trace -> 0;
BEGIN
  IF trace = '[]' THEN RETURN; END IF;
  IF cardinality(records) = 1 AND jsonb_array_length(trace) = 1 AND jsonb_array_length(one -> 'ids') = 1 THEN
    INSERT INTO audit_entries (at, actor, action, subject, environment, address, request_id, details)
    VALUES (moment, $6, 'provisioning.applied', format('%s:%s/%s', one ->> 'kind', $1, one -> 'ids' ->> 0),
      $2, how ->> 'address', how ->> 'requestId',
      jsonb_strip_nulls(jsonb_build_object('outcome', one -> 'outcome', 'fields', one -> 'fields',
        'version', (records[1]).version)));
  ELSE
    INSERT INTO audit_entries (at, actor, action, subject, environment, address, request_id, details)
    VALUES (moment, $6, 'provisioning.merged', coalesce(how ->> 'subject', 'source:' || $1), $2,
      how ->> 'address', how ->> 'requestId',
      jsonb_build_object('source', $1, 'created', counts -> 'created', 'changed', counts -> 'changed',
        'removed', counts -> 'removed', 'records', trace));
  END IF;
END $$;

-- Everything that comes from a source comes by this, with what it entails, in one transaction: what is newer
-- than what is known is applied, what is as old has been already, what is older is left. Transactions that
-- make something new go beside each other. One that removes what is not known, or leaves a holding waiting,
-- goes alone: of a removal and an older record, or of a holding and its account, the later sees the earlier.
-- `how` says more of who acts, for the log: address, requestId; and what the entry is about, unless it is the
-- source.
CREATE FUNCTION merge_records(source text, environment text, records provisioned[], actor text,
  moment timestamptz, how jsonb DEFAULT '{}')
RETURNS jsonb LANGUAGE plpgsql SET search_path FROM CURRENT
  SET enable_seqscan = off SET enable_mergejoin = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
  site text;
  winners provisioned[];
  repeated bigint;
  outdated bigint;
  alone boolean;
  customers record;
  accounts record;
  holdings record;
  counts jsonb;
BEGIN
  SELECT s.environment INTO site FROM sources s WHERE s.name = $1;
  IF NOT FOUND THEN RAISE undefined_object USING MESSAGE = 'source: ' || unknown_source_message($1); END IF;
  IF site <> $2 THEN
    RAISE invalid_parameter_value USING MESSAGE = format('source: %s belongs to the %s site', $1, site);
  END IF;
  -- Most batches say each thing once.
  winners := records; repeated := 0; outdated := 0;
  IF (SELECT count(*) FROM (SELECT FROM unnest(records) AS r
    GROUP BY r.kind, r."externalId", r.customer, r.account) AS each) < cardinality(records) THEN
    SELECT array_agg(one.r) FILTER (WHERE one.place = 1),
      count(*) FILTER (WHERE one.place > 1 AND one.version = one.greatest),
      count(*) FILTER (WHERE one.version < one.greatest) INTO winners, repeated, outdated
    FROM (SELECT r, r.version, row_number() OVER said AS place, first_value(r.version) OVER said AS greatest
      FROM unnest(records) AS r
      WINDOW said AS (PARTITION BY r.kind, r."externalId", r.customer, r.account
        ORDER BY r.version DESC, r.line)) AS one;
  END IF;

  SELECT bool_or(CASE
    WHEN w.kind = 'customer' THEN w.op = 'remove' AND u.id IS NULL
    WHEN w.kind = 'account' THEN w.op = 'remove' AND a.account_number IS NULL
    ELSE u.id IS NULL OR a.account_number IS NULL END) INTO alone
  FROM unnest(winners) AS w
  LEFT JOIN LATERAL (SELECT id FROM users WHERE users.source = $1
    AND external_id = CASE w.kind WHEN 'customer' THEN w."externalId" ELSE w.customer END OFFSET 0) AS u
    ON true
  LEFT JOIN LATERAL (SELECT account_number FROM accounts WHERE accounts.source = $1
    AND external_id = CASE w.kind WHEN 'account' THEN w."externalId" ELSE w.account END OFFSET 0) AS a
    ON true
  WHERE w.op = 'remove' OR w.kind = 'holding';
  IF alone THEN
    PERFORM pg_advisory_xact_lock(hashtextextended('provisioning:' || $1, 0));
  ELSE
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('provisioning:' || $1, 0));
  END IF;

  -- Triggers that tell of an act, such as that an address was changed, tell by whom and when.
  PERFORM set_config('countersign.act', jsonb_strip_nulls(jsonb_build_object('by', actor, 'at', moment,
    'environment', $2, 'address', how ->> 'address', 'requestId', how ->> 'requestId'))::text, true);
  customers := merge_customers($1, winners, actor, moment);
  accounts := merge_accounts($1, $2, winners, actor, moment);
  IF cardinality(customers.made) + cardinality(accounts.made) > 0
    AND EXISTS (SELECT FROM waiting_holdings w WHERE w.source = $1) THEN
    winners := winners || take_waiting_holdings($1, customers.made, accounts.made);
    SELECT array_agg(r) INTO winners FROM (
      SELECT DISTINCT ON (r.customer, r.account) r FROM unnest(winners) AS r WHERE r.kind = 'holding'
      ORDER BY r.customer, r.account, r.version DESC, r.line) AS one (r);
  END IF;
  holdings := merge_holdings($1, winners, actor, moment);
  PERFORM set_config('countersign.act', '', true);

  -- As of when. No transaction waits for the row: another that has it has said so just now.
  UPDATE sources s SET heard_at = moment, newest_at = greatest(s.newest_at, (SELECT max(r."changedAt")
    FROM unnest(records) AS r), s.newest_at)
  WHERE s.name = (SELECT n.name FROM sources n WHERE n.name = $1 FOR NO KEY UPDATE SKIP LOCKED);
  counts := (SELECT jsonb_object_agg(what, n) FROM (
    SELECT what, sum(n) AS n FROM (
      SELECT c.key AS what, c.value::bigint AS n
      FROM (VALUES (customers.outcomes), (accounts.outcomes), (holdings.outcomes)) AS o (outcomes),
        jsonb_each_text(coalesce(nullif(o.outcomes -> 'counts', 'null'), '{}')) AS c
      UNION ALL VALUES ('unchanged', repeated), ('skipped', outdated), ('created', 0), ('changed', 0),
        ('removed', 0), ('waiting', 0), ('failed', 0)) AS each
    GROUP BY what) AS summed);
  PERFORM record_merge($1, $2, records, coalesce(customers.trace, '[]') || coalesce(accounts.trace, '[]')
    || coalesce(holdings.trace, '[]'), counts, actor, moment, how);
  RETURN counts || jsonb_build_object('faults', coalesce(nullif(customers.outcomes -> 'faults', 'null'), '[]')
    || coalesce(nullif(accounts.outcomes -> 'faults', 'null'), '[]'));
END $$;

-- ---- records in SQL ----

-- A number without a fraction, as a reader has it that turns JSON into doubles; null for anything else. So
-- 2.0 is 2, and nothing is refused here that is taken there.
CREATE FUNCTION whole_number(value jsonb) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  number numeric := CASE jsonb_typeof(value) WHEN 'number' THEN (value #>> '{}')::numeric END;
  double float8;
BEGIN
  IF number IS NULL OR abs(number) > 9007199254740993 THEN RETURN NULL; END IF;
  -- Less than half of the least double is none.
  double := CASE WHEN abs(number) <= 2.4703282292062327e-324 THEN 0 ELSE number::float8 END;
  RETURN CASE WHEN double = trunc(double) AND abs(double) <= 9007199254740991 THEN double::bigint END;
END $$;

-- Without control and format characters, those of private use and separators of lines: none of what \p{Cc},
-- \p{Cf}, \p{Co}, \p{Zl} and \p{Zp} are.
CREATE FUNCTION is_printable(words text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN words ~ '^[^\u0001-\u001f\u007f-\u009f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u180e'
    '\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ue000-\uf8ff\ufeff\ufff9-\ufffb\U000110bd\U000110cd'
    '\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f'
    '\U000f0000-\U000ffffd\U00100000-\U0010fffd]*$';

CREATE FUNCTION is_instant(value jsonb) RETURNS boolean LANGUAGE plpgsql STABLE SET search_path FROM CURRENT
  SET enable_seqscan = off SET enable_mergejoin = off SET jit = off AS $$
BEGIN
  IF jsonb_typeof(value) <> 'string'
    OR value #>> '{}' !~ '^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]'
      '(\.[0-9]{1,6})?(Z|[+-](0[0-9]|1[0-5]):[0-5][0-9])$'
  THEN RETURN false; END IF;
  RETURN (value #>> '{}')::timestamptz IS NOT NULL;
EXCEPTION WHEN data_exception THEN
  RETURN false;
END $$;

-- What is wrong with a record of a source, in the words of the field that is at fault; null when nothing is.
-- The same as src/provisioning/record.ts asks of the interface: test/provisioning/hostile-records.long.ts
-- holds the two together.
CREATE FUNCTION record_fault(record jsonb) RETURNS text LANGUAGE plpgsql STABLE SET search_path FROM CURRENT
  SET enable_seqscan = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
  kind text := record ->> 'kind';
  op text := coalesce(record ->> 'op', 'upsert');
  external_id constant text := '^[A-Za-z0-9._@+:-]{1,64}$';
  keys text[] := CASE WHEN kind = 'holding' THEN ARRAY['customer', 'account'] ELSE ARRAY['externalId'] END;
  names text[] := ARRAY['kind', 'op', 'version', 'changedAt'] || keys || CASE
    WHEN op = 'remove' THEN '{}'
    WHEN kind = 'customer' THEN '{name,username,email,locale,status}'::text[]
    WHEN kind = 'account' THEN '{number,type,classification,status,optionLevel,dayTrader,openedAt}'
    ELSE '{role,mayAuthorize,status}' END;
  field text;
  fault text;
BEGIN
  IF jsonb_typeof(record) IS DISTINCT FROM 'object' THEN RETURN 'record must be an object'; END IF;
  IF kind NOT IN ('customer', 'account', 'holding') OR kind IS NULL
    THEN RETURN 'kind must be customer, account or holding'; END IF;
  IF record ? 'op' AND coalesce(record -> 'op' NOT IN ('"upsert"', '"remove"'), true)
    THEN RETURN 'op must be upsert or remove'; END IF;
  SELECT left(k, 100) INTO field FROM jsonb_object_keys(record) AS k WHERE k <> ALL (names) LIMIT 1;
  IF FOUND THEN RETURN format('%s is no field of %s', field,
    CASE op WHEN 'remove' THEN 'a removal' ELSE 'a ' || kind END); END IF;
  IF coalesce(whole_number(record -> 'version'), -1) < 0
    THEN RETURN 'version must be a whole number from 0 to 9007199254740991'; END IF;
  FOREACH field IN ARRAY keys LOOP
    IF jsonb_typeof(record -> field) IS DISTINCT FROM 'string' OR record ->> field !~ external_id THEN
      RETURN format('%s must be 1 to 64 letters, digits or any of . _ @ + : -', field);
    END IF;
  END LOOP;
  FOREACH field IN ARRAY ARRAY['changedAt', 'openedAt'] LOOP
    IF record ? field AND NOT is_instant(record -> field) THEN
      RETURN format('%s must be a date and time such as 2026-01-31T09:30:00Z', field);
    END IF;
  END LOOP;
  IF op = 'remove' THEN RETURN NULL; END IF;
  fault := CASE kind
    WHEN 'customer' THEN CASE
      WHEN jsonb_typeof(record -> 'name') IS DISTINCT FROM 'string'
        OR length(without_margins(record ->> 'name')) NOT BETWEEN 1 AND 200
        OR NOT is_printable(record ->> 'name')
        THEN 'name must have 1 to 200 characters, none of them invisible'
      WHEN record ? 'username' AND (jsonb_typeof(record -> 'username') <> 'string'
        OR record ->> 'username' !~ '^[A-Za-z0-9._@+-]{1,100}$'
        OR lower(record ->> 'username') ~ '^id-[a-z0-9]{12}$')
        THEN 'username must be 1 to 100 letters, digits or any of . _ @ + -, and not look like an id'
      WHEN record ? 'email' AND (jsonb_typeof(record -> 'email') <> 'string'
        OR (record ->> 'email' <> '' AND (length(record ->> 'email') > 254
          OR strpos(record ->> 'email', '@') > 65
          OR record ->> 'email' !~ '^[A-Za-z0-9!#$%&''*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&''*+/=?^_`{|}~-]+)*'
            '@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9-]{2,63}$')))
        THEN 'email must be an e-mail address such as ada@example.com, or empty'
      WHEN record ? 'locale' AND (jsonb_typeof(record -> 'locale') <> 'string'
        OR record ->> 'locale' !~ '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$')
        THEN 'locale must be a language such as en or fr-CA'
      WHEN record ? 'status' AND coalesce(record -> 'status' NOT IN ('"active"', '"disabled"'), true)
        THEN 'status must be active or disabled' END
    WHEN 'account' THEN CASE
      WHEN jsonb_typeof(record -> 'number') IS DISTINCT FROM 'string'
        OR record ->> 'number' !~ '^[A-Z0-9]{4,20}$'
        THEN 'number must be 4 to 20 capital letters and digits'
      WHEN record -> 'type' IS NULL OR record -> 'type' NOT IN ('"cash"', '"margin"')
        THEN 'type must be cash or margin'
      WHEN record ? 'classification' AND (jsonb_typeof(record -> 'classification') <> 'string'
        OR length(without_margins(record ->> 'classification')) NOT BETWEEN 1 AND 200
        OR NOT is_printable(record ->> 'classification'))
        THEN 'classification must have 1 to 200 characters, none of them invisible'
      WHEN record ? 'status' AND record -> 'status' NOT IN ('"active"', '"closed"')
        THEN 'status must be active or closed'
      WHEN record ? 'optionLevel'
        AND coalesce(whole_number(record -> 'optionLevel') NOT BETWEEN 1 AND 6, true)
        THEN 'optionLevel must be a whole number from 1 to 6'
      WHEN record ? 'dayTrader' AND jsonb_typeof(record -> 'dayTrader') <> 'boolean'
        THEN 'dayTrader must be true or false' END
    ELSE CASE
      WHEN record -> 'role' IS NULL
        OR record -> 'role' NOT IN ('"owner"', '"joint"', '"custodian"', '"adviser"', '"viewer"')
        THEN 'role must be owner, joint, custodian, adviser or viewer'
      WHEN record ? 'mayAuthorize' AND (jsonb_typeof(record -> 'mayAuthorize') <> 'array'
        OR NOT record -> 'mayAuthorize' <@ '["read", "write", "market", "trade", "stream"]')
        THEN 'mayAuthorize must be a list of any of read, write, market, trade, stream'
      WHEN record ? 'status' AND record -> 'status' NOT IN ('"active"', '"suspended"')
        THEN 'status must be active or suspended' END
    END;
  RETURN fault;
END $$;

-- For the core's own transactions in the same PostgreSQL: what it says commits or vanishes with them. SELECT
-- provision('live', 'core', '{"kind": "customer", "externalId": "C-1001", "name": "Ada Lovelace", "version":
-- 7}'); One record or a list of them; all of them, or an error that names the field. The role that is
-- connected speaks only for the sources that it was given. It runs with the rights of its owner
-- (docs/provisioning.md has the GRANTs).
CREATE FUNCTION provision(environment text, source text, records jsonb) RETURNS jsonb
  LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT
  SET enable_seqscan = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
  list jsonb := CASE WHEN jsonb_typeof(records) = 'array' THEN records ELSE jsonb_build_array(records) END;
  fault text;
  merged jsonb;
BEGIN
  IF $1 NOT IN ('live', 'sandbox') OR $1 IS NULL THEN
    RAISE invalid_parameter_value USING MESSAGE = 'provision: environment must be live or sandbox'; END IF;
  IF $2 !~ '^[a-z][a-z0-9-]{0,29}$' OR $2 IS NULL THEN
    RAISE invalid_parameter_value
      USING MESSAGE = 'provision: source must be a small letter, then small letters, digits or -, 30 at most';
  END IF;
  IF NOT EXISTS (SELECT FROM sources s WHERE s.name = $2) THEN
    RAISE undefined_object USING MESSAGE = 'provision: ' || unknown_source_message($2); END IF;
  IF NOT EXISTS (SELECT FROM source_roles s JOIN pg_roles r ON r.rolname = s.role
    WHERE s.source = $2 AND pg_has_role(session_user, r.oid, 'USAGE')) THEN
    RAISE insufficient_privilege
      USING MESSAGE = format('provision: role "%s" may not speak for source "%s". '
        'Allow it: countersign source update %2$s --role %1$s', session_user, $2);
  END IF;
  IF records IS NULL OR jsonb_array_length(list) NOT BETWEEN 1 AND 5000 THEN
    RAISE invalid_parameter_value
      USING MESSAGE = 'provision: records must be a record, or a list of 1 to 5000';
  END IF;
  SELECT format(CASE WHEN jsonb_typeof(records) = 'array' THEN 'record %s: %s' ELSE '%2$s' END, r.place,
    record_fault(r.record)) INTO fault
  FROM jsonb_array_elements(list) WITH ORDINALITY AS r (record, place)
  WHERE record_fault(r.record) IS NOT NULL ORDER BY r.place LIMIT 1;
  IF fault IS NULL THEN
    merged := merge_records($2, $1,
      ARRAY(SELECT jsonb_populate_record(NULL::provisioned, r.record || jsonb_strip_nulls(jsonb_build_object(
        'line', r.place, 'op', coalesce(r.record ->> 'op', 'upsert'),
        'version', whole_number(r.record -> 'version'),
        'optionLevel', whole_number(r.record -> 'optionLevel'))))
      FROM jsonb_array_elements(list) WITH ORDINALITY AS r (record, place)),
      session_actor(), clock_timestamp());
    SELECT format('%s %s', f ->> 'field', f ->> 'problem') INTO fault
    FROM jsonb_array_elements(merged -> 'faults') AS f LIMIT 1;
  END IF;
  IF fault IS NOT NULL THEN RAISE invalid_parameter_value USING MESSAGE = 'provision: ' || fault; END IF;
  RETURN merged - 'faults';
END $$;
REVOKE ALL ON FUNCTION provision(text, text, jsonb) FROM PUBLIC;

-- ---- reading ----

-- A page of what a source has, in the order of its names. While statistics do not say yet that most are of
-- one source, everything after a name would be read and sorted for each page: these can only walk along the
-- index.
CREATE FUNCTION customers_after(source text, name text, most bigint) RETURNS SETOF users LANGUAGE sql STABLE
  SET search_path FROM CURRENT SET enable_seqscan = off SET enable_mergejoin = off SET jit = off
  SET enable_sort = off SET enable_bitmapscan = off AS $$
  SELECT * FROM users u WHERE u.source = $1 AND u.external_id > $2 COLLATE "C" AND u.removed_at IS NULL
  ORDER BY u.external_id LIMIT $3
$$;
CREATE FUNCTION accounts_after(source text, name text, most bigint) RETURNS SETOF accounts LANGUAGE sql STABLE
  SET search_path FROM CURRENT SET enable_seqscan = off SET enable_mergejoin = off SET jit = off
  SET enable_sort = off SET enable_bitmapscan = off AS $$
  SELECT * FROM accounts a WHERE a.source = $1 AND a.external_id > $2 COLLATE "C" AND a.removed_at IS NULL
  ORDER BY a.external_id LIMIT $3
$$;
