-- Partners, their members and clients, what they ask for and what they were refused; and the brokerage's own
-- systems.

-- Where a partner in which state may act: one rule, for statements in SQL (src/partners/partner-status.ts has
-- it for the rest of the code). An applicant has the sandbox and nothing else; a partner that was declined or
-- suspended has nothing.
CREATE FUNCTION may_act(status text, environment text) RETURNS boolean
  LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT status = 'approved' OR (status = 'applied' AND environment = 'sandbox')
$$;

CREATE TABLE partners (
  branch_id      integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name           text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200),
  status         text NOT NULL CHECK (status IN ('applied', 'approved', 'declined', 'suspended')),
  status_reason  text,
  refresh_access boolean NOT NULL DEFAULT false,
  -- Counts decisions and applications: a person who decides about what they read decides about nothing that
  -- came later.
  revision       integer NOT NULL DEFAULT 0,
  created_at     timestamptz NOT NULL,
  updated_at     timestamptz NOT NULL,
  -- No partner's name is a number, as a branch id is: a word names one partner at most.
  CONSTRAINT partners_name_is_no_id CHECK (name !~ '^\d+$'),
  CONSTRAINT partners_declined_with_reason CHECK (status <> 'declined' OR status_reason IS NOT NULL)
);
CREATE INDEX partners_by_status ON partners (status, branch_id);
CREATE INDEX partners_by_name ON partners USING gin (name_words(name));

-- What a person said of themselves when they applied as a partner, for the operator who decides.
CREATE TABLE partner_applications (
  branch_id    integer PRIMARY KEY REFERENCES partners,
  applicant_id text NOT NULL REFERENCES users,
  website      text NOT NULL CHECK (length(website) <= 300),
  contact      text NOT NULL CHECK (length(contact) <= 320),
  purpose      text NOT NULL CHECK (length(purpose) <= 2000),
  created_at   timestamptz NOT NULL
);
CREATE INDEX partner_applications_of_user ON partner_applications (applicant_id);

-- What partner and brokerage tell each other, and what was decided when: one list for both sides, only ever
-- added to. Of an application it keeps what was said then. It has no author where the command line decided.
CREATE TABLE partner_messages (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  branch_id   integer NOT NULL REFERENCES partners,
  kind        text NOT NULL CHECK (kind IN ('message', 'applied', 'approved', 'declined', 'suspended')),
  side        text NOT NULL CHECK (side IN ('partner', 'brokerage')),
  author_id   text REFERENCES users,
  text        text CHECK (length(text) BETWEEN 1 AND 2000),
  application jsonb CHECK (length(application::text) <= 8000),
  written_at  timestamptz NOT NULL,
  CHECK (kind NOT IN ('message', 'declined') OR text IS NOT NULL),
  CHECK (kind = 'applied' OR application IS NULL)
);
CREATE INDEX partner_messages_of_branch ON partner_messages (branch_id, id);

CREATE FUNCTION partner_messages_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'What was written to each other stays as it was written.';
END $$;
CREATE TRIGGER partner_messages_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON partner_messages
  FOR EACH STATEMENT EXECUTE FUNCTION partner_messages_refuse_change();

-- What a member may do: a viewer looks, a developer also changes clients and webhooks, an owner also members
-- and what the partner says of itself.
CREATE TABLE partner_members (
  branch_id integer NOT NULL REFERENCES partners,
  user_id   text NOT NULL REFERENCES users,
  role      text NOT NULL CHECK (role IN ('viewer', 'developer', 'owner')),
  added_at  timestamptz NOT NULL,
  PRIMARY KEY (branch_id, user_id)
);
CREATE INDEX partner_members_of_user ON partner_members (user_id);
CREATE TRIGGER refuse_for_test_holder BEFORE INSERT ON partner_members
  FOR EACH ROW EXECUTE FUNCTION refuse_for_test_holder('user_id');

-- Only an owner can make another, so the last one stays, whichever statement writes. The transaction locks
-- one of the other owners meanwhile as a witness: of two owners who demote each other the second transaction
-- waits for the first, and then finds none. By the name of its schema: the session that writes may have
-- another search path.
CREATE FUNCTION partner_members_keep_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM public.partner_members
  WHERE branch_id = OLD.branch_id AND role = 'owner' AND user_id <> OLD.user_id LIMIT 1 FOR SHARE;
  IF NOT FOUND THEN
    RAISE integrity_constraint_violation USING CONSTRAINT = 'partner_members_keep_owner',
      MESSAGE = 'The last owner of a partner can neither be removed nor become something else.';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER partner_members_keep_owner AFTER DELETE ON partner_members FOR EACH ROW
  WHEN (OLD.role = 'owner') EXECUTE FUNCTION partner_members_keep_owner();
CREATE TRIGGER partner_members_keep_owner_on_update AFTER UPDATE ON partner_members FOR EACH ROW
  WHEN (OLD.role = 'owner' AND (NEW.role <> 'owner' OR NEW.branch_id <> OLD.branch_id))
  EXECUTE FUNCTION partner_members_keep_owner();

-- Whom an owner invites by mail. The link is proof enough, and counts once; of its token there is a hash. The
-- command line made the ones without an inviter.
CREATE TABLE invitations (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  branch_id  integer NOT NULL REFERENCES partners,
  email      text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
  role       text NOT NULL CHECK (role IN ('viewer', 'developer', 'owner')),
  token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
  invited_by text REFERENCES users,
  invited_at timestamptz NOT NULL,
  sent_at    timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  CHECK (sent_at >= invited_at),
  CHECK (expires_at > sent_at)
);
CREATE UNIQUE INDEX invitations_of_address ON invitations (branch_id, lower(email));
CREATE INDEX invitations_by_end ON invitations (expires_at);

-- A partner asks for refresh access; what grants or withdraws it answers, by whatever means.
CREATE TABLE refresh_requests (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  branch_id   integer NOT NULL REFERENCES partners,
  reason      text NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000),
  asked_at    timestamptz NOT NULL,
  granted     boolean,
  answered_at timestamptz,
  CHECK ((granted IS NULL) = (answered_at IS NULL))
);
CREATE UNIQUE INDEX refresh_requests_open ON refresh_requests (branch_id) WHERE answered_at IS NULL;
CREATE INDEX refresh_requests_of_branch ON refresh_requests (branch_id, id);
CREATE INDEX refresh_requests_by_age ON refresh_requests (asked_at, id) WHERE answered_at IS NULL;

CREATE FUNCTION answer_refresh_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE refresh_requests SET granted = NEW.refresh_access, answered_at = NEW.updated_at
  WHERE branch_id = NEW.branch_id AND answered_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER answer_refresh_request AFTER UPDATE OF refresh_access ON partners
  FOR EACH ROW EXECUTE FUNCTION answer_refresh_request();

-- The brokerage sets the most that a client may ask for; the partner chooses within it.
CREATE TABLE clients (
  id                    text PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9]{24}$'),
  branch_id             integer NOT NULL REFERENCES partners,
  environment           text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  name                  text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  callback_url          text NOT NULL,
  scopes                text[] NOT NULL
    CHECK (scopes <@ ARRAY['read', 'write', 'market', 'trade', 'stream'] AND cardinality(scopes) > 0),
  scopes_at_most        text[] NOT NULL,
  -- Those that an account holder cannot leave out, where the client asks for them.
  scopes_required       text[] NOT NULL DEFAULT '{}',
  status                text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  rotate_refresh_tokens boolean NOT NULL DEFAULT false,
  -- From when on FAPI 2.0 is demanded of it (src/oauth/profile.ts); until then both ways are taken. Null: never.
  fapi2_from            timestamptz,
  -- Whether the bearer tokens that it has then end at that moment, or live out their time.
  fapi2_ends_bearers    boolean NOT NULL DEFAULT true,
  -- Where its keys are, if they are not given.
  jwks_uri              text CHECK (length(jwks_uri) <= 2000),
  -- Of the certificate that it authenticates with, if an authority of MTLS_CA_FILE issued it.
  certificate_subject   text CHECK (length(certificate_subject) <= 500),
  demands_dpop_nonces   boolean NOT NULL DEFAULT false,
  created_at            timestamptz NOT NULL,
  updated_at            timestamptz NOT NULL,
  CONSTRAINT clients_scopes_within_most CHECK (scopes <@ scopes_at_most
    AND scopes_at_most <@ ARRAY['read', 'write', 'market', 'trade', 'stream']),
  CONSTRAINT clients_required_within_most CHECK (scopes_required <@ scopes_at_most),
  CONSTRAINT clients_fapi2_over_https CHECK (fapi2_from IS NULL OR callback_url ~* '^https://')
);
CREATE INDEX clients_of_branch ON clients (branch_id);
CREATE INDEX clients_by_name ON clients USING gin (name_words(name));

-- A partner asks for more; what sets the most answers, by whatever means. What was granted of it is empty
-- when it was declined.
CREATE TABLE scope_requests (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  client_id   text NOT NULL REFERENCES clients,
  scopes      text[] NOT NULL
    CHECK (scopes <@ ARRAY['read', 'write', 'market', 'trade', 'stream'] AND cardinality(scopes) > 0),
  reason      text NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000),
  asked_at    timestamptz NOT NULL,
  granted     text[] CHECK (granted <@ scopes),
  answered_at timestamptz,
  CHECK ((granted IS NULL) = (answered_at IS NULL))
);
CREATE UNIQUE INDEX scope_requests_open ON scope_requests (client_id) WHERE answered_at IS NULL;
CREATE INDEX scope_requests_of_client ON scope_requests (client_id, id);
CREATE INDEX scope_requests_by_age ON scope_requests (asked_at, id) WHERE answered_at IS NULL;

CREATE FUNCTION answer_scope_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE scope_requests SET answered_at = NEW.updated_at,
    granted = ARRAY(SELECT scope FROM unnest(scopes) AS scope WHERE scope = ANY (NEW.scopes_at_most))
  WHERE client_id = NEW.id AND answered_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER answer_scope_request AFTER UPDATE OF scopes_at_most ON clients
  FOR EACH ROW EXECUTE FUNCTION answer_scope_request();

-- A partner asks for FAPI 2.0; what sets or takes away the moment answers, by whatever means.
CREATE TABLE profile_requests (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  client_id   text NOT NULL REFERENCES clients,
  -- From when on; null: whenever it suits the brokerage.
  wished_from timestamptz,
  asked_at    timestamptz NOT NULL,
  granted     boolean,
  answered_at timestamptz,
  CHECK ((granted IS NULL) = (answered_at IS NULL))
);
CREATE UNIQUE INDEX profile_requests_open ON profile_requests (client_id) WHERE answered_at IS NULL;
CREATE INDEX profile_requests_of_client ON profile_requests (client_id, id);
CREATE INDEX profile_requests_by_age ON profile_requests (asked_at, id) WHERE answered_at IS NULL;

CREATE FUNCTION answer_profile_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE profile_requests SET granted = NEW.fapi2_from IS NOT NULL, answered_at = NEW.updated_at
  WHERE client_id = NEW.id AND answered_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER answer_profile_request AFTER UPDATE OF fapi2_from ON clients FOR EACH ROW
  WHEN (OLD.fapi2_from IS DISTINCT FROM NEW.fapi2_from) EXECUTE FUNCTION answer_profile_request();

-- At most two live secrets a client, one a slot. Sealed, because they sign webhooks; hashed, because they
-- sign in.
CREATE TABLE client_secrets (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  client_id    text NOT NULL REFERENCES clients,
  slot         smallint NOT NULL CHECK (slot IN (1, 2)),
  hash         bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  sealed       bytea NOT NULL,
  hint         text NOT NULL,
  created_at   timestamptz NOT NULL,
  -- From when on it signs webhooks. The one that it replaces does until then.
  signs_from   timestamptz NOT NULL,
  expires_at   timestamptz,
  last_used_at timestamptz,
  revoked_at   timestamptz,
  CHECK (signs_from >= created_at)
);
CREATE UNIQUE INDEX client_secrets_by_slot ON client_secrets (client_id, slot) WHERE revoked_at IS NULL;
-- Looked for once a minute: who has to be told that a secret ends soon.
CREATE INDEX client_secrets_by_end ON client_secrets (expires_at)
  WHERE revoked_at IS NULL AND expires_at IS NOT NULL;
-- Secrets that have ended too, newest first: a partner asks whether a signature was made by one of them.
CREATE INDEX client_secrets_of_client ON client_secrets (client_id, id);

-- A client of FAPI 2.0 gets no secret, whichever statement writes. The row of the client is locked before its
-- profile is looked at: one that changes meanwhile is waited for.
CREATE FUNCTION client_secrets_of_standard() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ends_at timestamptz;
BEGIN
  SELECT fapi2_from INTO ends_at FROM public.clients WHERE id = NEW.client_id FOR SHARE;
  IF ends_at <= NEW.created_at THEN
    RAISE integrity_constraint_violation USING CONSTRAINT = 'client_secrets_of_standard',
      MESSAGE = 'A client of FAPI 2.0 has no secret.';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER client_secrets_of_standard BEFORE INSERT ON client_secrets
  FOR EACH ROW EXECUTE FUNCTION client_secrets_of_standard();

-- Public keys that a client proves itself by, given or read at its address: up to ten live at once. With a
-- certificate (x5c) a key proves a connection. What is removed leaves; the log has it.
CREATE TABLE client_keys (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  client_id    text NOT NULL REFERENCES clients,
  -- RFC 7638.
  thumbprint   text NOT NULL CHECK (thumbprint ~ '^[A-Za-z0-9_-]{43}$'),
  jwk          jsonb NOT NULL CHECK (NOT jwk ?| ARRAY['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']),
  added_at     timestamptz NOT NULL,
  last_used_at timestamptz,
  UNIQUE (client_id, thumbprint)
);

-- Of each client whose keys are at an address (clients.jwks_uri): when they were read and are read again.
-- Whoever claims it reads it, and has half a minute; whoever wants it meanwhile has it read once more.
CREATE TABLE client_key_sets (
  client_id    text PRIMARY KEY REFERENCES clients,
  placed_at    timestamptz NOT NULL,
  -- When the keys last were as the client has them now.
  read_at      timestamptz,
  -- Of that answer, if every key of it could be used.
  etag         text CHECK (length(etag) <= 200),
  due_at       timestamptz NOT NULL,
  claimed_at   timestamptz,
  wanted_at    timestamptz,
  failed_since timestamptz,
  -- Why it fails; or, where it does not, which keys were left out.
  fault        text CHECK (length(fault) <= 300),
  CHECK (failed_since IS NULL OR fault IS NOT NULL)
);
CREATE INDEX client_key_sets_due ON client_key_sets (due_at);

-- The API calls of a day, for partners' developers and for operators. Three tables in a ring: today's,
-- yesterday's, and the next, which is emptied before its day begins: nothing leaves by the row. A line holds
-- nothing that was sent but the request's own id: no header, no value of a query, no body. No foreign key: its
-- checks would cost more than the lines, and no partner is ever removed.
CREATE SEQUENCE call_ids;
CREATE TABLE calls (
  slot        smallint NOT NULL,
  id          bigint NOT NULL DEFAULT nextval('call_ids'),
  branch_id   integer NOT NULL,
  environment text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  -- The caller only said which client it is: it proved nothing, or was not asked to.
  claimed     boolean NOT NULL,
  -- Null for a member who calls with a personal token.
  client_id   text CHECK (client_id ~ '^[A-Za-z0-9]{24}$'),
  at          timestamptz NOT NULL,
  method      text NOT NULL CHECK (method ~ '^[A-Z-]{1,20}$'),
  -- As it stands in the table of routes. Where nothing is at the address, its path, with long words masked.
  route       text NOT NULL CHECK (route ~ '^/[!-~•]{0,200}$'),
  status      smallint NOT NULL CHECK (status BETWEEN 100 AND 599),
  duration_ms real NOT NULL CHECK (duration_ms >= 0),
  request_id  text NOT NULL CHECK (request_id ~ '^[\w.-]{1,40}$'),
  -- Of a call that failed: the error's code, the rule behind it (src/partners/failure-causes.ts), and the
  -- fields at fault, by name.
  code        text CHECK (code ~ '^[a-z_]{1,40}$'),
  cause       text CHECK (cause ~ '^[a-z-]{1,40}$'),
  fields      text[] NOT NULL DEFAULT '{}',
  -- What FAPI 2.0 will demand of its client, and this call did not meet (src/oauth/profile.ts). Null: nothing.
  unmet       text[] CHECK (cardinality(unmet) > 0),
  -- So many calls of the same caller, before this one, have no line of their own.
  left_out    integer NOT NULL CHECK (left_out >= 0),
  CHECK ((code IS NULL) = (cause IS NULL)),
  CHECK (code IS NOT NULL OR (status < 400 AND fields = '{}')),
  CHECK (claimed <= (client_id IS NOT NULL)),
  PRIMARY KEY (id, slot)
) PARTITION BY LIST (slot);
CREATE TABLE calls_0 PARTITION OF calls FOR VALUES IN (0);
CREATE TABLE calls_1 PARTITION OF calls FOR VALUES IN (1);
CREATE TABLE calls_2 PARTITION OF calls FOR VALUES IN (2);
CREATE INDEX calls_of_branch ON calls (branch_id, environment, at, id);
CREATE INDEX failed_calls_of_branch ON calls (branch_id, environment, at, id) WHERE code IS NOT NULL;
CREATE INDEX unmet_calls_of_branch ON calls (branch_id, environment, at, id) WHERE unmet IS NOT NULL;
CREATE INDEX failed_calls ON calls (at) WHERE code IS NOT NULL;
CREATE INDEX calls_by_request ON calls (request_id, at);

-- Empties one of the three, as the owner of the tables, which the gateway need not be. It waits for no reader:
-- whoever comes later would wait behind it.
CREATE FUNCTION empty_calls(of_slot integer) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
  SET search_path FROM CURRENT SET lock_timeout = '25ms' AS $$
DECLARE
  is_filled boolean;
BEGIN
  EXECUTE format('SELECT EXISTS (SELECT FROM %I)', 'calls_' || of_slot) INTO is_filled;
  IF is_filled THEN EXECUTE format('TRUNCATE %I', 'calls_' || of_slot); END IF;
END $$;
REVOKE ALL ON FUNCTION empty_calls(integer) FROM PUBLIC;

-- The brokerage's own systems, with a credential of their own.
CREATE TABLE services (
  id            text PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9]{24}$'),
  name          text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  environment   text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  hash          bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  -- For which sources it may speak (0007-provisioning.sql). One that may only introspect or publish changes
  -- no customer.
  may_provision text[] NOT NULL DEFAULT '{}'
    CHECK (array_to_string(may_provision, ',', '?') ~ '^([a-z][a-z0-9-]{0,29}(,|$))*$'),
  -- What introspection tells it of a token beside what every service learns (src/vocabulary/token-fact.ts).
  sees          text[] NOT NULL DEFAULT '{username,client,accounts}'
    CHECK (sees <@ ARRAY['username', 'client', 'partner', 'grant', 'accounts', 'customer', 'sign-in']),
  -- What it protects, by the name that clients ask for (RFC 8707): a token for other resources is inactive
  -- for it. Null: it takes every token.
  audience      text CHECK (length(audience) <= 200 AND audience ~ '^[a-z][a-z0-9+.-]*:[!-~]+$'
    AND audience !~ '#'),
  created_at    timestamptz NOT NULL,
  revoked_at    timestamptz,
  -- Of the secret, and since when it is this one. Null: nobody was given one yet.
  hint          text,
  secret_at     timestamptz,
  CHECK ((hint IS NULL) = (secret_at IS NULL))
);
