-- How people sign in: at an identity provider or with a password, with second factors, into sessions. And
-- what a browser sent that waits or must count once.

-- The brokerage's own identity providers (OpenID Connect). Each is for holders or for staff, never for both:
-- an issuer stands here once, and its people are of one kind.
CREATE TABLE identity_providers (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- In the addresses that it sends people back to.
  name            text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,39}$'),
  kind            text NOT NULL CHECK (kind IN ('holder', 'staff')),
  label           text NOT NULL CHECK (length(label) BETWEEN 1 AND 100),
  issuer          text NOT NULL UNIQUE CHECK (length(issuer) BETWEEN 8 AND 500),
  client_id       text NOT NULL CHECK (length(client_id) BETWEEN 1 AND 500),
  proof           text NOT NULL
    CHECK (proof IN ('client_secret_basic', 'client_secret_post', 'private_key_jwt')),
  -- The secret, or the private key. Null: it is written down, and was given none yet.
  sealed          bytea CHECK (sealed IS NOT NULL OR enabled_at IS NULL),
  -- Since when the gateway asks with this one: client secrets run out, and are replaced.
  credential_at   timestamptz NOT NULL,
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
  -- Null: it is written down, and people do not sign in there yet.
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
  -- The provider or the gateway can say when a second factor was given.
  CHECK (own_second_step OR cardinality(strong_acr) + cardinality(strong_amr) > 0)
);

-- What a provider said of itself last: used for a day when it does not answer.
CREATE TABLE provider_documents (
  provider_id bigint NOT NULL REFERENCES identity_providers ON DELETE CASCADE,
  kind        text NOT NULL CHECK (kind IN ('metadata', 'keys')),
  document    jsonb NOT NULL,
  fetched_at  timestamptz NOT NULL,
  PRIMARY KEY (provider_id, kind)
);

-- Whom an issuer means: no person is found by a name or an e-mail address. Links are the issuer's, and
-- outlast a provider that is removed and added again.
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
-- A user is one subject of an issuer at most: a second one would be another way into the same account.
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

-- Logout tokens that were taken: none counts twice while it would be believed.
CREATE TABLE spent_logout_tokens (
  provider_id bigint NOT NULL REFERENCES identity_providers ON DELETE CASCADE,
  jti_hash    bytea NOT NULL CHECK (length(jti_hash) = 32),
  spent_at    timestamptz NOT NULL,
  -- The subject and the sign-in that it ended: for sign-ins that are half finished, without a session yet.
  sub_hash    bytea CHECK (length(sub_hash) = 32),
  sid_hash    bytea CHECK (length(sid_hash) = 32),
  PRIMARY KEY (provider_id, jti_hash)
);
CREATE INDEX spent_logout_tokens_by_age ON spent_logout_tokens (spent_at);

-- Only hashes of session ids are stored: a dump opens no session.
CREATE TABLE sessions (
  id                  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash                bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  user_id             text NOT NULL REFERENCES users,
  environment         text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  created_at          timestamptz NOT NULL,
  -- A session that is confirmed gets a new id and a new row; this is when the browser first signed in.
  first_seen_at       timestamptz NOT NULL,
  -- Null: nothing was proven here, but on the live site, where it comes from.
  authenticated_at    timestamptz,
  -- When the second proof of this session was given; null when the password was all.
  strong_at           timestamptz,
  -- Whether that proof was a passkey.
  by_passkey          boolean NOT NULL DEFAULT false,
  last_seen_at        timestamptz NOT NULL,
  address             text NOT NULL,
  user_agent          text NOT NULL,
  -- What it has from a provider. It ends with the provider; `provider_sid` is the provider's own session,
  -- where it names one.
  provider_id         bigint REFERENCES identity_providers ON DELETE CASCADE,
  provider_subject    text,
  provider_sid        text,
  -- When the provider vouched last. A session that replaces another has this from it, whatever else was
  -- proven.
  provider_vouched_at timestamptz,
  -- Whether the provider says when a second factor was given; and whether ours stands in.
  provider_vouches    boolean,
  own_second_step     boolean,
  -- For signing out there; sealed.
  id_token            bytea,
  -- The session on the live site that a session of the sandbox comes from. It ends with it.
  parent_id           bigint,
  parent_site         text GENERATED ALWAYS AS (CASE WHEN parent_id IS NOT NULL THEN 'live' END) STORED,
  UNIQUE (id, environment, user_id),
  CONSTRAINT sessions_of_parent FOREIGN KEY (parent_id, parent_site, user_id)
    REFERENCES sessions (id, environment, user_id) ON DELETE CASCADE,
  CONSTRAINT sessions_of_live_in_sandbox CHECK (parent_id IS NULL OR environment = 'sandbox'),
  CONSTRAINT sessions_proven CHECK (authenticated_at IS NOT NULL OR parent_id IS NOT NULL),
  CONSTRAINT sessions_provider_check CHECK (
    num_nulls(provider_id, provider_subject, provider_vouched_at, provider_vouches, own_second_step) IN (0, 5)
    AND (provider_id IS NOT NULL OR num_nonnulls(provider_sid, id_token) = 0))
);
CREATE INDEX sessions_of_user ON sessions (user_id);
CREATE INDEX sessions_by_age ON sessions (created_at);
CREATE INDEX sessions_by_parent ON sessions (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX sessions_of_provider ON sessions (provider_id, provider_subject) WHERE provider_id IS NOT NULL;

CREATE TRIGGER refuse_for_test_holder BEFORE INSERT ON sessions FOR EACH ROW
  WHEN (NEW.environment = 'live') EXECUTE FUNCTION refuse_for_test_holder('user_id');

-- Codes that lead from a session of the live site to the sandbox (src/users/site-switch.ts), one a session.
CREATE TABLE site_switches (
  session_id   bigint PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
  code_hash    bytea NOT NULL UNIQUE CHECK (length(code_hash) = 32),
  -- Of the secret of the browser that asked.
  browser_hash bytea NOT NULL CHECK (length(browser_hash) = 32),
  made_at      timestamptz NOT NULL
);

-- One row a bucket (a username, a known device, an address): how often sign-in failed and until when it must
-- wait.
CREATE TABLE login_throttle (
  bucket        text PRIMARY KEY,
  failures      integer NOT NULL CHECK (failures > 0),
  started_at    timestamptz NOT NULL,
  blocked_until timestamptz,
  attempt       uuid NOT NULL
);

-- A wait begins with the entry that records it, and is over with the one of a sign-in.
CREATE FUNCTION note_sign_in_wait() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF NEW.action = 'session.throttled' THEN
    PERFORM note_locked_person(substr(NEW.subject, 6), 'must wait', NEW.at);
  ELSE
    DELETE FROM locked_people WHERE user_id = substr(NEW.subject, 6) AND reason = 'must wait';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER note_sign_in_wait AFTER INSERT ON audit_entries FOR EACH ROW
  WHEN (NEW.action IN ('session.throttled', 'session.wait_lifted', 'session.opened')
    AND NEW.subject LIKE 'user:%')
  EXECUTE FUNCTION note_sign_in_wait();

-- The secret of an authenticator app, sealed. `last_step` is the newest code that was used: none counts
-- twice, or after a newer one.
CREATE TABLE totp_factors (
  id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id        text NOT NULL UNIQUE REFERENCES users,
  sealed         bytea NOT NULL,
  last_step      bigint NOT NULL,
  created_at     timestamptz NOT NULL,
  last_used_at   timestamptz,
  -- Codes that were wrong since one was right. A factor that is locked takes no code until its owner comes
  -- back with a recovery code.
  wrong_in_a_row integer NOT NULL DEFAULT 0 CHECK (wrong_in_a_row >= 0),
  locked_at      timestamptz
);

CREATE FUNCTION note_locked_app() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND NEW.locked_at IS NOT NULL THEN
    PERFORM note_locked_person(NEW.user_id, 'app locked', NEW.locked_at);
  ELSE
    DELETE FROM locked_people WHERE user_id = OLD.user_id AND reason = 'app locked';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER note_locked_app AFTER UPDATE OF locked_at ON totp_factors FOR EACH ROW
  WHEN (OLD.locked_at IS DISTINCT FROM NEW.locked_at) EXECUTE FUNCTION note_locked_app();
CREATE TRIGGER note_locked_app_on_delete AFTER DELETE ON totp_factors FOR EACH ROW
  WHEN (OLD.locked_at IS NOT NULL) EXECUTE FUNCTION note_locked_app();

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

-- How often each user failed at the second step, ever: half a sign-in remembers the number it began with. The
-- transaction that takes the step holds the row meanwhile, so that guesses at one user are judged one after
-- the other, on whichever node they arrive.
CREATE TABLE second_step_failures (
  user_id  text PRIMARY KEY REFERENCES users,
  failures bigint NOT NULL DEFAULT 0 CHECK (failures >= 0)
);

-- A person who is locked is half-way in no more, also when they are unlocked within minutes: it counts as if
-- they had failed as often as ends half a sign-in.
CREATE FUNCTION end_half_sign_in() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO second_step_failures AS f (user_id, failures) VALUES (NEW.id, 10) ON CONFLICT (user_id)
    DO UPDATE SET failures = f.failures + 10;
  RETURN NULL;
END $$;
CREATE TRIGGER end_half_sign_in AFTER UPDATE OF status ON users FOR EACH ROW
  WHEN (OLD.status = 'active' AND NEW.status = 'disabled') EXECUTE FUNCTION end_half_sign_in();

-- Challenges that were answered: none can be answered again while it would still be believed.
CREATE TABLE spent_challenges (
  challenge text PRIMARY KEY,
  spent_at  timestamptz NOT NULL
);
CREATE INDEX spent_challenges_by_age ON spent_challenges (spent_at);

-- A link for a forgotten password: it counts once, and of its token there is a hash. One at a time: a new one
-- ends the one before.
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
CREATE TRIGGER refuse_for_test_holder BEFORE INSERT ON password_resets
  FOR EACH ROW EXECUTE FUNCTION refuse_for_test_holder('user_id');

-- It was made for the password, the address and the state of then: a change of one of them ends it.
CREATE FUNCTION end_password_reset() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM password_resets WHERE user_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER end_password_reset AFTER UPDATE OF password_hash, email, status ON users FOR EACH ROW
  WHEN ((OLD.password_hash, OLD.email, OLD.status) IS DISTINCT FROM
    (NEW.password_hash, NEW.email, NEW.status))
  EXECUTE FUNCTION end_password_reset();

-- What a person typed into a form that could not be taken yet, because they have to sign in or to confirm
-- that it is them first. Sealed; found by a secret that only their browser has, of which this is a hash; for
-- half an hour, once, and for the same person alone.
CREATE TABLE kept_forms (
  id      text PRIMARY KEY CHECK (length(id) = 43),
  user_id text NOT NULL REFERENCES users,
  sealed  bytea NOT NULL CHECK (length(sealed) <= 70000),
  kept_at timestamptz NOT NULL
);
CREATE INDEX kept_forms_of_user ON kept_forms (user_id, kept_at);
CREATE INDEX kept_forms_by_age ON kept_forms (kept_at);

-- Forms that make something new carry a number of their own: sent twice, they count once, on whichever node
-- they arrive. `leads_to` is where what was made is shown, to the browser that sends the form again.
CREATE TABLE submissions (
  id         text PRIMARY KEY CHECK (length(id) <= 43),
  leads_to   text CHECK (leads_to LIKE '/%' AND length(leads_to) <= 300),
  created_at timestamptz NOT NULL
);
CREATE INDEX submissions_by_age ON submissions (created_at);
