-- A second proof at sign-in. Nodes of the release before ask for the password alone until they are replaced.

-- The secret of an authenticator app, sealed. `last_step` is the newest code that was used: none counts twice, or after a newer one.
CREATE TABLE totp_factors (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id      text NOT NULL UNIQUE REFERENCES users,
  sealed       bytea NOT NULL,
  last_step    bigint NOT NULL,
  created_at   timestamptz NOT NULL,
  last_used_at timestamptz
);

-- For a lost phone. Each has 79 random bits and counts once; only hashes are stored.
CREATE TABLE recovery_codes (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id    text NOT NULL REFERENCES users,
  hash       bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  created_at timestamptz NOT NULL,
  used_at    timestamptz
);
CREATE INDEX recovery_codes_of_user ON recovery_codes (user_id);

-- When the second proof of this session was given; null when the password was all.
ALTER TABLE sessions ADD COLUMN strong_at timestamptz;
