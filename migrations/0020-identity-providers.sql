-- Sign-in by the brokerage's own identity providers (OpenID Connect): who they are, whom they vouch for, and what a session owes to one of them.

-- Customers of a provider may have no password of ours.
ALTER TABLE users ALTER COLUMN password_hash DROP NOT NULL;

-- A provider is for holders or for staff, never for both: an issuer stands here once, and its people are of one kind.
CREATE TABLE identity_providers (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- In the addresses that it sends people back to.
  name            text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,39}$'),
  kind            text NOT NULL CHECK (kind IN ('holder', 'staff')),
  label           text NOT NULL CHECK (length(label) BETWEEN 1 AND 100),
  issuer          text NOT NULL UNIQUE CHECK (length(issuer) BETWEEN 8 AND 500),
  client_id       text NOT NULL CHECK (length(client_id) BETWEEN 1 AND 500),
  proof           text NOT NULL CHECK (proof IN ('client_secret_basic', 'client_secret_post', 'private_key_jwt')),
  -- The secret, or the private key.
  sealed          bytea NOT NULL,
  scopes          text[] NOT NULL CHECK ('openid' = ANY (scopes)),
  -- The claim that equals a customer's external id; null: only who is linked already gets in.
  link_claim      text CHECK (length(link_claim) BETWEEN 1 AND 100),
  link_source     text NOT NULL DEFAULT 'core',
  -- What it calls a sign-in with a second factor; empty: it does not say.
  strong_acr      text[] NOT NULL DEFAULT '{}',
  strong_amr      text[] NOT NULL DEFAULT '{}',
  -- Whether a second step of ours stands in where it does not.
  own_second_step boolean NOT NULL,
  -- Where staff have their roles from: a claim, and which of its values is which role.
  roles_claim     text CHECK (length(roles_claim) BETWEEN 1 AND 100),
  role_map        jsonb NOT NULL DEFAULT '{}',
  created_at      timestamptz NOT NULL,
  -- Null: it is written down, and nobody signs in there yet.
  enabled_at      timestamptz,
  -- What a logout token ends: the session that it names, or all that the person has from there.
  logout_ends     text NOT NULL DEFAULT 'session' CHECK (logout_ends IN ('session', 'person')),
  -- When it was last asked for its metadata, when it last answered, and since when it has not.
  looked_at       timestamptz,
  answered_at     timestamptz,
  away_since      timestamptz,
  away_why        text,
  -- How far a node was ahead of it, by the last ID token that it issued.
  ahead_ms        bigint,
  ahead_at        timestamptz,
  CHECK ((ahead_ms IS NULL) = (ahead_at IS NULL)),
  CHECK (kind = 'staff' OR (roles_claim IS NULL AND role_map = '{}')),
  CHECK ((away_since IS NULL) = (away_why IS NULL)),
  -- Somebody can say when a second factor was given.
  CHECK (own_second_step OR cardinality(strong_acr) + cardinality(strong_amr) > 0)
);

-- What it said of itself last: used for a day when it does not answer.
CREATE TABLE provider_documents (
  provider_id bigint NOT NULL REFERENCES identity_providers ON DELETE CASCADE,
  kind        text NOT NULL CHECK (kind IN ('metadata', 'keys')),
  document    jsonb NOT NULL,
  fetched_at  timestamptz NOT NULL,
  PRIMARY KEY (provider_id, kind)
);

-- Whom an issuer means: nobody is found by a name or an e-mail address. Links are the issuer's, and outlast a provider that is removed and added again.
CREATE TABLE identities (
  issuer      text NOT NULL,
  subject     text NOT NULL CHECK (length(subject) BETWEEN 1 AND 255),
  user_id     text NOT NULL REFERENCES users,
  linked_at   timestamptz NOT NULL,
  -- When they last came from there, and last with a second factor that was given there.
  seen_at     timestamptz,
  factor_at   timestamptz,
  PRIMARY KEY (issuer, subject)
);
-- One subject of an issuer is somebody, and nobody is two of them: a second one would be another way into the same account.
CREATE UNIQUE INDEX identities_of_user ON identities (user_id, issuer);
CREATE INDEX identities_by_age ON identities (issuer, seen_at);

-- Sign-ins that were sent to a provider: each comes back once, into the browser that it left from.
CREATE TABLE provider_sign_ins (
  state_hash   bytea PRIMARY KEY CHECK (length(state_hash) = 32),
  browser_hash bytea NOT NULL CHECK (length(browser_hash) = 32),
  provider_id  bigint NOT NULL REFERENCES identity_providers ON DELETE CASCADE,
  sealed       bytea NOT NULL,
  started_at   timestamptz NOT NULL
);
CREATE INDEX provider_sign_ins_by_age ON provider_sign_ins (started_at);

-- What a session has from a provider. It ends with it; `provider_sid` is the provider's own session, where it names one.
ALTER TABLE sessions ADD COLUMN provider_id bigint REFERENCES identity_providers ON DELETE CASCADE;
ALTER TABLE sessions ADD COLUMN provider_subject text;
ALTER TABLE sessions ADD COLUMN provider_sid text;
-- When it vouched last. A session that replaces another has this from it, whatever else was proven.
ALTER TABLE sessions ADD COLUMN provider_vouched_at timestamptz;
-- Whether the provider says when a second factor was given; and whether ours stands in.
ALTER TABLE sessions ADD COLUMN provider_vouches boolean;
ALTER TABLE sessions ADD COLUMN own_second_step boolean;
-- For signing out there; sealed.
ALTER TABLE sessions ADD COLUMN id_token bytea;
ALTER TABLE sessions ADD CONSTRAINT sessions_provider_check CHECK (
  num_nulls(provider_id, provider_subject, provider_vouched_at, provider_vouches, own_second_step) IN (0, 5)
  AND (provider_id IS NOT NULL OR num_nonnulls(provider_sid, id_token) = 0)) NOT VALID;
CREATE INDEX sessions_of_provider ON sessions (provider_id, provider_subject) WHERE provider_id IS NOT NULL;

-- Logout tokens that were taken: none counts twice while it would be believed.
CREATE TABLE spent_logout_tokens (
  provider_id bigint NOT NULL REFERENCES identity_providers ON DELETE CASCADE,
  jti_hash    bytea NOT NULL CHECK (length(jti_hash) = 32),
  spent_at    timestamptz NOT NULL,
  -- Whose sign-in it ended, and which: for those who are half-way in, and have no session yet.
  sub_hash    bytea CHECK (length(sub_hash) = 32),
  sid_hash    bytea CHECK (length(sid_hash) = 32),
  PRIMARY KEY (provider_id, jti_hash)
);
CREATE INDEX spent_logout_tokens_by_age ON spent_logout_tokens (spent_at);

-- Operators hear of a sign-in of staff that went past their provider; and whoever forgot a password gets a link.
DO $make$
DECLARE
  known text := (SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint WHERE conname = 'notices_kind_check' AND conrelid = 'notices'::regclass);
BEGIN
  ALTER TABLE notices DROP CONSTRAINT notices_kind_check;
  EXECUTE format($text$ALTER TABLE notices ADD CONSTRAINT notices_kind_check CHECK (%s OR kind IN ('staff-password', 'password-reset')) NOT VALID$text$, known);
END $make$;

-- A link for whoever forgot their password: it counts once, and of its token there is a hash. One at a time: a new one ends the one before.
CREATE TABLE password_resets (
  user_id    text PRIMARY KEY REFERENCES users,
  token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
  -- From which a key of the vault makes the token, for a message that is sent once more.
  seed       text NOT NULL,
  made_at    timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  CHECK (expires_at > made_at)
);
CREATE INDEX password_resets_by_end ON password_resets (expires_at);

-- It was made for the password, the address and the state of then: whoever changes one of them ends it.
CREATE FUNCTION end_password_reset() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM password_resets WHERE user_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER end_password_reset AFTER UPDATE OF password_hash, email, status ON users FOR EACH ROW
  WHEN ((OLD.password_hash, OLD.email, OLD.status) IS DISTINCT FROM (NEW.password_hash, NEW.email, NEW.status)) EXECUTE FUNCTION end_password_reset();

-- Whoever is locked is half-way in no more, also when they are unlocked within minutes: it counts as if they had failed as often as ends half a sign-in.
CREATE FUNCTION end_half_way() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO second_step_failures AS f (user_id, failures) VALUES (NEW.id, 10) ON CONFLICT (user_id) DO UPDATE SET failures = f.failures + 10;
  RETURN NULL;
END $$;
CREATE TRIGGER end_half_way AFTER UPDATE OF status ON users FOR EACH ROW
  WHEN (OLD.status = 'active' AND NEW.status = 'disabled') EXECUTE FUNCTION end_half_way();
