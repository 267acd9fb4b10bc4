-- Account holders and operators, partners and their clients.

CREATE TABLE users (
  id            text PRIMARY KEY CHECK (id ~ '^id-[a-z0-9]{12}$'),
  username      text NOT NULL UNIQUE CHECK (username = lower(username) AND length(username) BETWEEN 1 AND 100),
  name          text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  password_hash text NOT NULL,
  role          text NOT NULL DEFAULT 'holder' CHECK (role IN ('holder', 'operator')),
  status        text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
  created_at    timestamptz NOT NULL,
  updated_at    timestamptz NOT NULL
);

CREATE TABLE accounts (
  account_number   text PRIMARY KEY CHECK (account_number ~ '^[A-Z0-9]{4,20}$'),
  user_id          text NOT NULL REFERENCES users,
  environment      text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  classification   text NOT NULL,
  date_created     timestamptz NOT NULL,
  day_trader       boolean NOT NULL DEFAULT false,
  option_level     smallint NOT NULL DEFAULT 1 CHECK (option_level BETWEEN 1 AND 6),
  status           text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'closed')),
  type             text NOT NULL CHECK (type IN ('cash', 'margin')),
  last_update_date timestamptz NOT NULL
);
CREATE INDEX accounts_of_user ON accounts (user_id, environment);

-- Only hashes of session ids are stored: a dump opens no session.
CREATE TABLE sessions (
  id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash             bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  user_id          text NOT NULL REFERENCES users,
  environment      text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  created_at       timestamptz NOT NULL,
  authenticated_at timestamptz NOT NULL,
  last_seen_at     timestamptz NOT NULL,
  address          text NOT NULL,
  user_agent       text NOT NULL
);
CREATE INDEX sessions_of_user ON sessions (user_id);
CREATE INDEX sessions_by_age ON sessions (created_at);

-- One row a bucket (a username, a known device, an address): how often sign-in failed and until when it must wait.
CREATE TABLE login_throttle (
  bucket        text PRIMARY KEY,
  failures      integer NOT NULL CHECK (failures > 0),
  started_at    timestamptz NOT NULL,
  blocked_until timestamptz,
  attempt       uuid NOT NULL
);

-- A personal API token belongs to the live environment, a sandbox token to the sandbox.
CREATE TABLE api_tokens (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id      text NOT NULL REFERENCES users,
  environment  text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  name         text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  hash         bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  hint         text NOT NULL,
  created_at   timestamptz NOT NULL,
  last_used_at timestamptz,
  revoked_at   timestamptz
);
CREATE INDEX api_tokens_of_user ON api_tokens (user_id);

CREATE TABLE partners (
  branch_id      integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name           text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200),
  status         text NOT NULL CHECK (status IN ('applied', 'approved', 'suspended')),
  status_reason  text,
  refresh_access boolean NOT NULL DEFAULT false,
  created_at     timestamptz NOT NULL,
  updated_at     timestamptz NOT NULL
);

CREATE TABLE partner_members (
  branch_id integer NOT NULL REFERENCES partners,
  user_id   text NOT NULL REFERENCES users,
  added_at  timestamptz NOT NULL,
  PRIMARY KEY (branch_id, user_id)
);
CREATE INDEX partners_of_member ON partner_members (user_id);

CREATE TABLE clients (
  id                    text PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9]{24}$'),
  branch_id             integer NOT NULL REFERENCES partners,
  environment           text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  name                  text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  callback_url          text NOT NULL,
  scopes                text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write', 'market', 'trade', 'stream'] AND cardinality(scopes) > 0),
  status                text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  rotate_refresh_tokens boolean NOT NULL DEFAULT false,
  created_at            timestamptz NOT NULL,
  updated_at            timestamptz NOT NULL
);
CREATE INDEX clients_of_branch ON clients (branch_id);

-- At most two live secrets a client, one a slot. Sealed, because they sign webhooks; hashed, because they sign in.
CREATE TABLE client_secrets (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  client_id    text NOT NULL REFERENCES clients,
  slot         smallint NOT NULL CHECK (slot IN (1, 2)),
  hash         bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  sealed       bytea NOT NULL,
  hint         text NOT NULL,
  created_at   timestamptz NOT NULL,
  expires_at   timestamptz,
  last_used_at timestamptz,
  revoked_at   timestamptz
);
CREATE UNIQUE INDEX client_secret_slots ON client_secrets (client_id, slot) WHERE revoked_at IS NULL;

-- The brokerage's own systems, with a credential of their own.
CREATE TABLE services (
  id           text PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9]{24}$'),
  name         text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  environment  text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  hash         bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  created_at   timestamptz NOT NULL,
  revoked_at   timestamptz
);
