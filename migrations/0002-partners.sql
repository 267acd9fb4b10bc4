-- Partners, their members and clients, what they ask for and what they were refused; and the brokerage's own systems.

-- No partner's name is a number, as a branch id is: a word names one partner at most.
CREATE TABLE partners (
  branch_id      integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name           text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200),
  status         text NOT NULL CHECK (status IN ('applied', 'approved', 'suspended')),
  status_reason  text,
  refresh_access boolean NOT NULL DEFAULT false,
  created_at     timestamptz NOT NULL,
  updated_at     timestamptz NOT NULL,
  CONSTRAINT partners_name_is_no_id CHECK (name !~ '^\d+$')
);
CREATE INDEX partners_by_status ON partners (status, branch_id);
CREATE INDEX partners_by_name ON partners USING gin (name_words(name));

-- What somebody said of themselves when they applied as a partner, for whoever decides.
CREATE TABLE partner_applications (
  branch_id    integer PRIMARY KEY REFERENCES partners,
  applicant_id text NOT NULL REFERENCES users,
  website      text NOT NULL CHECK (length(website) <= 300),
  contact      text NOT NULL CHECK (length(contact) <= 320),
  purpose      text NOT NULL CHECK (length(purpose) <= 2000),
  created_at   timestamptz NOT NULL
);
CREATE INDEX applications_of_user ON partner_applications (applicant_id);

CREATE TABLE partner_members (
  branch_id integer NOT NULL REFERENCES partners,
  user_id   text NOT NULL REFERENCES users,
  added_at  timestamptz NOT NULL,
  PRIMARY KEY (branch_id, user_id)
);
CREATE INDEX partners_of_member ON partner_members (user_id);

-- Whom a partner invites becomes a member by accepting: nobody is made one unasked. By name, whether or not there is such a user.
CREATE TABLE member_invitations (
  branch_id  integer NOT NULL REFERENCES partners,
  username   text NOT NULL CHECK (length(username) BETWEEN 1 AND 100),
  invited_at timestamptz NOT NULL,
  PRIMARY KEY (branch_id, username)
);
CREATE INDEX invitations_of_username ON member_invitations (username);

-- A partner asks for refresh access; whoever grants or withdraws it answers, by whatever means.
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

CREATE FUNCTION answer_refresh_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE refresh_requests SET granted = NEW.refresh_access, answered_at = NEW.updated_at
  WHERE branch_id = NEW.branch_id AND answered_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER answer_refresh_request AFTER UPDATE OF refresh_access ON partners FOR EACH ROW
  EXECUTE FUNCTION answer_refresh_request();

-- The brokerage sets the most that a client may ask for; the partner chooses within it. Whoever registers a client without a word
-- about the most means what it registers.
CREATE TABLE clients (
  id                    text PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9]{24}$'),
  branch_id             integer NOT NULL REFERENCES partners,
  environment           text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  name                  text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  callback_url          text NOT NULL,
  scopes                text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write', 'market', 'trade', 'stream'] AND cardinality(scopes) > 0),
  scopes_at_most        text[],
  status                text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  rotate_refresh_tokens boolean NOT NULL DEFAULT false,
  created_at            timestamptz NOT NULL,
  updated_at            timestamptz NOT NULL,
  CONSTRAINT clients_scopes_within_most CHECK (
    scopes_at_most IS NOT NULL AND scopes <@ scopes_at_most
    AND scopes_at_most <@ ARRAY['read', 'write', 'market', 'trade', 'stream'])
);
CREATE INDEX clients_of_branch ON clients (branch_id);

CREATE FUNCTION fill_scopes_at_most() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.scopes_at_most := coalesce(NEW.scopes_at_most, NEW.scopes);
  RETURN NEW;
END $$;
CREATE TRIGGER fill_scopes_at_most BEFORE INSERT ON clients FOR EACH ROW EXECUTE FUNCTION fill_scopes_at_most();

-- A partner asks for more; whoever sets the most answers, by whatever means. What was granted of it is empty when it was declined.
CREATE TABLE scope_requests (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  client_id   text NOT NULL REFERENCES clients,
  scopes      text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write', 'market', 'trade', 'stream'] AND cardinality(scopes) > 0),
  reason      text NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000),
  asked_at    timestamptz NOT NULL,
  granted     text[] CHECK (granted <@ scopes),
  answered_at timestamptz,
  CHECK ((granted IS NULL) = (answered_at IS NULL))
);
CREATE UNIQUE INDEX scope_requests_open ON scope_requests (client_id) WHERE answered_at IS NULL;
CREATE INDEX scope_requests_of_client ON scope_requests (client_id, id);
CREATE INDEX scope_requests_waiting ON scope_requests (asked_at, id) WHERE answered_at IS NULL;

CREATE FUNCTION answer_scope_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE scope_requests SET answered_at = NEW.updated_at,
    granted = ARRAY(SELECT scope FROM unnest(scopes) AS scope WHERE scope = ANY (NEW.scopes_at_most))
  WHERE client_id = NEW.id AND answered_at IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER answer_scope_request AFTER UPDATE OF scopes_at_most ON clients FOR EACH ROW
  EXECUTE FUNCTION answer_scope_request();

-- At most two live secrets a client, one a slot. Sealed, because they sign webhooks; hashed, because they sign in.
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
CREATE UNIQUE INDEX client_secret_slots ON client_secrets (client_id, slot) WHERE revoked_at IS NULL;
-- Looked for once a minute: who has to be told that a secret ends soon.
CREATE INDEX client_secrets_ending ON client_secrets (expires_at) WHERE revoked_at IS NULL AND expires_at IS NOT NULL;

-- The last calls of each partner that were refused, and why. A ring: the newest hundred of a partner's own, and the newest hundred of
-- those that only claimed to be one of its clients, so that strangers cannot push out what the partner looks for.
CREATE TABLE refused_calls (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  branch_id   integer NOT NULL REFERENCES partners,
  environment text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  claimed     boolean NOT NULL,
  client_id   text,
  -- Each caller has a share of the ring: the client that proved itself, or the address of who only claimed to be one.
  caller      text NOT NULL DEFAULT '',
  at          timestamptz NOT NULL,
  method      text NOT NULL,
  route       text NOT NULL,
  status      integer NOT NULL,
  code        text NOT NULL,
  description text NOT NULL,
  sent        text NOT NULL,
  request_id  text NOT NULL
);
CREATE INDEX refused_calls_of_branch ON refused_calls (branch_id, environment, claimed, id);

-- The brokerage's own systems, with a credential of their own.
CREATE TABLE services (
  id           text PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9]{24}$'),
  name         text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  environment  text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  hash         bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  created_at   timestamptz NOT NULL,
  revoked_at   timestamptz
);
