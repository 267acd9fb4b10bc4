-- Passkeys (WebAuthn) as a second factor. Each belongs to the site it was made on: browsers bind it to the site's name.
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

-- Challenges that were answered: none can be answered again while it would still be believed.
CREATE TABLE spent_challenges (
  challenge text PRIMARY KEY,
  spent_at  timestamptz NOT NULL
);
CREATE INDEX spent_challenges_by_age ON spent_challenges (spent_at);
