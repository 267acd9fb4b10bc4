-- Account holders and operators: who they are, how they sign in, which accounts they hold.

-- Operators look for people and partners by the words of their names: `ada lo` finds Ada Lovelace.
CREATE FUNCTION name_words(name text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN to_tsvector('simple'::regconfig, regexp_replace(name, '[[:punct:]]+', ' ', 'g'));

-- No username has the shape of an id: a word names one user at most.
CREATE TABLE users (
  id               text PRIMARY KEY CHECK (id ~ '^id-[a-z0-9]{12}$'),
  username         text NOT NULL UNIQUE CHECK (username = lower(username) AND length(username) BETWEEN 1 AND 100),
  name             text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  -- Where notices go, or nowhere; and which of the kinds that may be declined are.
  email            text CHECK (length(email) BETWEEN 3 AND 254),
  -- When it was given instead of another, or of none, by whomever: written by a trigger alone (0005-notices.sql). For a day no password reset goes there.
  email_changed_at timestamptz,
  declined_notices text[] NOT NULL DEFAULT '{}',
  password_hash    text NOT NULL,
  role             text NOT NULL DEFAULT 'holder' CHECK (role IN ('holder', 'operator')),
  status           text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
  created_at       timestamptz NOT NULL,
  updated_at       timestamptz NOT NULL,
  CONSTRAINT users_username_is_no_id CHECK (username !~ '^id-[a-z0-9]{12}$')
);
CREATE INDEX users_by_name ON users USING gin (name_words(name));
-- For pages and for beginnings of usernames, in an order that is the same in every installation.
CREATE INDEX users_in_order ON users (username COLLATE "C");
CREATE INDEX active_operators ON users (id) WHERE role = 'operator' AND status = 'active';

-- Addresses that were replaced or removed: for a while they are told too, because whoever takes an account over changes its address first.
CREATE TABLE former_emails (
  user_id     text NOT NULL REFERENCES users,
  email       text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
  replaced_at timestamptz NOT NULL,
  PRIMARY KEY (user_id, email)
);
CREATE INDEX former_emails_by_age ON former_emails (replaced_at);

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
  -- A session that is confirmed gets a new id and a new row; this is when the browser first signed in. Null: at created_at.
  first_seen_at    timestamptz,
  authenticated_at timestamptz NOT NULL,
  -- When the second proof of this session was given; null when the password was all.
  strong_at        timestamptz,
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

-- The secret of an authenticator app, sealed. `last_step` is the newest code that was used: none counts twice, or after a newer one.
CREATE TABLE totp_factors (
  id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id        text NOT NULL UNIQUE REFERENCES users,
  sealed         bytea NOT NULL,
  last_step      bigint NOT NULL,
  created_at     timestamptz NOT NULL,
  last_used_at   timestamptz,
  -- Codes that were wrong since one was right. A factor that is locked takes no code until its owner comes back with a recovery code.
  wrong_in_a_row integer NOT NULL DEFAULT 0 CHECK (wrong_in_a_row >= 0),
  locked_at      timestamptz
);

-- Passkeys (WebAuthn). Each belongs to the site it was made on: browsers bind it to the site's name.
CREATE TABLE passkeys (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id       text NOT NULL REFERENCES users,
  environment   text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  credential_id text NOT NULL UNIQUE CHECK (length(credential_id) BETWEEN 1 AND 1400),
  public_key    bytea NOT NULL,
  counter       bigint NOT NULL,
  transports    text[] NOT NULL,
  name          text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  created_at    timestamptz NOT NULL,
  last_used_at  timestamptz
);
CREATE INDEX passkeys_of_user ON passkeys (user_id);

-- For a lost phone. Each has 79 random bits and counts once; only hashes are stored.
CREATE TABLE recovery_codes (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id    text NOT NULL REFERENCES users,
  hash       bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  created_at timestamptz NOT NULL,
  used_at    timestamptz
);
CREATE INDEX recovery_codes_of_user ON recovery_codes (user_id);

-- How often each user failed at the second step, ever: half a sign-in remembers the number it began with. Whoever takes the step holds
-- the row meanwhile, so that guesses at one user are judged one after the other, on whichever node they arrive.
CREATE TABLE second_step_failures (
  user_id  text PRIMARY KEY REFERENCES users,
  failures bigint NOT NULL DEFAULT 0 CHECK (failures >= 0)
);

-- Challenges that were answered: none can be answered again while it would still be believed.
CREATE TABLE spent_challenges (
  challenge text PRIMARY KEY,
  spent_at  timestamptz NOT NULL
);
CREATE INDEX spent_challenges_by_age ON spent_challenges (spent_at);

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

-- Forms that make something new carry a number of their own: sent twice, they count once, on whichever node they arrive. `leads_to` is
-- where what was made is shown, for whoever sends the form again.
CREATE TABLE submissions (
  id         text PRIMARY KEY CHECK (length(id) <= 43),
  leads_to   text CHECK (leads_to LIKE '/%' AND length(leads_to) <= 300),
  created_at timestamptz NOT NULL
);
CREATE INDEX submissions_by_age ON submissions (created_at);
