-- What account holders approved, and the codes and tokens born of it. Tokens are stored as hashes only.

-- A user's standing approval of a client: what the user said last. Revoked ones stay as history; at most one
-- a pair is alive.
CREATE TABLE authorizations (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id         text NOT NULL REFERENCES users,
  client_id       text NOT NULL REFERENCES clients,
  scopes          text[] NOT NULL CHECK (cardinality(scopes) > 0),
  account_numbers text[] NOT NULL,
  approved_at     timestamptz NOT NULL,
  -- When its owner said last what stands: accounts that they came to hold later were never left out.
  consented_at    timestamptz NOT NULL,
  last_used_at    timestamptz,
  -- A holder may pause an application and resume it: while this is set none of its tokens counts, and none is
  -- lost.
  paused_at       timestamptz,
  revoked_at      timestamptz,
  revoked_reason  text,
  CHECK ((revoked_at IS NULL) = (revoked_reason IS NULL))
);
CREATE UNIQUE INDEX authorizations_one_alive ON authorizations (user_id, client_id) WHERE revoked_at IS NULL;
CREATE INDEX authorizations_of_client ON authorizations (client_id, id);

-- Test holders approve clients of their own partner in the sandbox, and no others.
CREATE FUNCTION authorizations_of_test_holder() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM public.users u, public.clients c WHERE u.id = NEW.user_id AND c.id = NEW.client_id
    AND u.role = 'test' AND (c.branch_id, c.environment) <> (u.test_of, 'sandbox')) THEN
    RAISE EXCEPTION USING ERRCODE = 'KIND1',
      MESSAGE = 'Test holders approve the sandbox clients of their own partner alone.';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER authorizations_of_test_holder BEFORE INSERT ON authorizations
  FOR EACH ROW EXECUTE FUNCTION authorizations_of_test_holder();

-- How often an application used each scope, a row a day, for the person who decides whether to keep it.
CREATE TABLE authorization_uses (
  authorization_id bigint NOT NULL,
  day              date NOT NULL,
  scope            text NOT NULL CHECK (scope IN ('read', 'write', 'market', 'trade', 'stream')),
  uses             integer NOT NULL CHECK (uses > 0),
  last_used_at     timestamptz NOT NULL,
  PRIMARY KEY (authorization_id, day, scope)
);
CREATE INDEX authorization_uses_by_age ON authorization_uses (day);

-- One consent answered with yes. Its code can be traded once; every token that comes of it points here, so
-- that revoking the grant ends them all. Rows that change often are cleaned up often, whatever the size of
-- their table: by default a table of ten million rows keeps two million dead ones, and every look at it
-- passes them by.
CREATE TABLE grants (
  id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  authorization_id bigint NOT NULL REFERENCES authorizations,
  client_id        text NOT NULL REFERENCES clients,
  user_id          text NOT NULL REFERENCES users,
  scopes           text[] NOT NULL CHECK (cardinality(scopes) > 0),
  account_numbers  text[] NOT NULL,
  callback_url     text NOT NULL,
  code_challenge   text,
  code_hash        bytea NOT NULL UNIQUE CHECK (length(code_hash) = 32),
  code_expires_at  timestamptz NOT NULL,
  approved_at      timestamptz NOT NULL,
  -- For which resources its tokens are (RFC 8707); empty: for all.
  resources        text[] NOT NULL DEFAULT '{}',
  -- When and how its holder had signed in who approved it (RFC 9470); null: nobody says. No refresh renews it.
  authenticated_at timestamptz,
  acr              text CHECK (acr IN ('password', 'second-factor', 'passkey')),
  -- The key without whose proof its code is worth nothing (RFC 9449, 10); null: any.
  dpop_jkt         text CHECK (dpop_jkt ~ '^[A-Za-z0-9_-]{43}$'),
  exchanged_at     timestamptz,
  revoked_at       timestamptz,
  revoked_reason   text,
  CHECK ((revoked_at IS NULL) = (revoked_reason IS NULL))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
CREATE INDEX grants_of_authorization ON grants (authorization_id);
CREATE INDEX grants_by_code_expiry ON grants (code_expires_at);

-- An authorization request that was answered, with yes or no, cannot be answered again.
CREATE TABLE answered_requests (
  request_id  text PRIMARY KEY,
  answered_at timestamptz NOT NULL
);
CREATE INDEX answered_requests_by_age ON answered_requests (answered_at);

-- Tokens have no foreign keys: their rows are made from their grant's own row, in one statement with it, and
-- grants leave after their tokens. A check would only be made again, and cost each token.
CREATE TABLE access_tokens (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash       bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  grant_id   bigint NOT NULL,
  scopes     text[] NOT NULL CHECK (cardinality(scopes) > 0),
  -- Those of the grant, or fewer.
  resources  text[] NOT NULL DEFAULT '{}',
  -- Who sends it must prove this key (RFC 9449) or hold this certificate (RFC 8705); null: whoever has it.
  binding    text CHECK (binding ~ '^(?:jkt|x5t#S256):[A-Za-z0-9_-]{43}$'),
  issued_at  timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz
);
CREATE INDEX access_tokens_of_grant ON access_tokens (grant_id);
CREATE INDEX access_tokens_by_expiry ON access_tokens (expires_at);

-- Without rotation a grant has one refresh token for life. With rotation each use replaces it; `replaced_at`
-- and the child's `parent_id` tell a forgivable repeat from a stolen token.
CREATE TABLE refresh_tokens (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash        bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  grant_id    bigint NOT NULL,
  parent_id   bigint,
  issued_at   timestamptz NOT NULL,
  replaced_at timestamptz
);
CREATE INDEX refresh_tokens_of_grant ON refresh_tokens (grant_id);
CREATE UNIQUE INDEX refresh_tokens_by_parent ON refresh_tokens (parent_id) WHERE parent_id IS NOT NULL;

-- What a client without a secret manages its webhooks with: nobody's approval is behind it, and it is good for
-- nothing else.
CREATE TABLE client_tokens (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash       bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  client_id  text NOT NULL REFERENCES clients,
  binding    text NOT NULL CHECK (binding ~ '^(?:jkt|x5t#S256):[A-Za-z0-9_-]{43}$'),
  issued_at  timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz
);
CREATE INDEX client_tokens_by_expiry ON client_tokens (expires_at);

-- Assertions and proofs that count once: remembered, by their hash, until they would be refused for their age.
CREATE TABLE used_proofs (
  hash       bytea PRIMARY KEY CHECK (length(hash) = 32),
  expires_at timestamptz NOT NULL
);
CREATE INDEX used_proofs_by_expiry ON used_proofs (expires_at);
