-- Who of the brokerage's people may do what, what takes two of them, and who is told of it. `users.role` says
-- that a person is staff; what they may do follows from the roles here (src/vocabulary/permission.ts).

-- Where a role comes from: given by hand, or by an identity provider at the last sign-in. A provider takes
-- back what it gave, and nothing else.
CREATE TABLE staff_roles (
  user_id  text NOT NULL REFERENCES users,
  role     text NOT NULL CHECK (role IN ('viewer', 'support', 'partner-manager', 'webhook-operator',
    'security-officer', 'auditor', 'administrator')),
  source   text NOT NULL CHECK (source = 'hand' OR source ~ '^provider:[^ ]{1,100}$'),
  given_at timestamptz NOT NULL,
  PRIMARY KEY (user_id, role, source)
);

-- Staff whom a provider knows get no password here: the operator who gave them one could come in as them,
-- past the provider. Staff who have one keep it, and change it.
CREATE FUNCTION refuse_staff_password() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF EXISTS (SELECT FROM identities i JOIN identity_providers p ON p.issuer = i.issuer
    WHERE i.user_id = NEW.id) THEN
    RAISE EXCEPTION 'Staff who sign in at a provider get no password.' USING ERRCODE = 'check_violation',
      CONSTRAINT = 'users_staff_password';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER refuse_staff_password BEFORE UPDATE OF password_hash ON users FOR EACH ROW
  WHEN (NEW.role = 'operator' AND OLD.password_hash IS NULL AND NEW.password_hash IS NOT NULL)
  EXECUTE FUNCTION refuse_staff_password();

-- A program that administers: for one of the staff, with a role of its own, on one site. What it may is asked
-- with each request: it ends with the roles of the person, on its last day, or when it is revoked. Readers are
-- others of the staff who can read it where it is kept: they do not decide what it proposed.
CREATE TABLE admin_credentials (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id      text NOT NULL REFERENCES users,
  name         text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  environment  text NOT NULL CHECK (environment IN ('live', 'sandbox')),
  role         text NOT NULL CHECK (role IN ('viewer', 'support', 'partner-manager', 'webhook-operator',
    'security-officer', 'auditor', 'administrator')),
  readers      text[] NOT NULL CHECK (cardinality(readers) <= 20),
  hash         bytea NOT NULL UNIQUE CHECK (length(hash) = 32),
  hint         text NOT NULL,
  created_at   timestamptz NOT NULL,
  expires_at   timestamptz NOT NULL CHECK (expires_at > created_at),
  last_used_at timestamptz,
  revoked_at   timestamptz
);

-- Acts that take two people (four eyes): one proposes exactly what is to be done, on the state in front of
-- them; another decides. The decision is written in the transaction that does the act. A proposal that is not
-- decided in time counts no more, and no row has to say so.
CREATE TABLE proposals (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind            text NOT NULL CHECK (kind IN ('partner.approve', 'partner.refresh-access',
    'partner.widen-scopes', 'provider.add', 'keys.rotate', 'user.reset-two-factor', 'import.removal',
    'client.lower-profile', 'client.activate', 'client.redirect', 'service.create', 'service.widen', 'source.create', 'source.allow-roles')),
  -- Whom or what it is done to, as the audit log has it.
  subject         text NOT NULL,
  act             jsonb NOT NULL,
  state           text NOT NULL,
  reason          text NOT NULL CHECK (length(reason) BETWEEN 1 AND 500),
  proposed_by     text NOT NULL REFERENCES users,
  -- By which they did.
  credential_id   bigint REFERENCES admin_credentials,
  proposed_at     timestamptz NOT NULL,
  expires_at      timestamptz NOT NULL,
  outcome         text CHECK (outcome IN ('applied', 'declined', 'withdrawn', 'outdated', 'expired')),
  decided_by      text REFERENCES users,
  decided_at      timestamptz,
  decision_reason text CHECK (length(decision_reason) BETWEEN 1 AND 500),
  CHECK (expires_at > proposed_at),
  CONSTRAINT proposals_decision
    CHECK ((outcome IS NULL) = (decided_at IS NULL) AND (outcome IS NOT NULL OR decided_by IS NULL)),
  -- Whichever statement writes, no person approves or declines what they proposed themselves, and only they
  -- withdraw it.
  CONSTRAINT proposals_four_eyes
    CHECK (outcome NOT IN ('applied', 'declined') OR (decided_by IS NOT NULL AND decided_by <> proposed_by)),
  CONSTRAINT proposals_withdrawal CHECK (outcome <> 'withdrawn' OR decided_by = proposed_by)
);
-- One at a time of a kind about one thing: of two that contradict each other only one could be approved.
CREATE UNIQUE INDEX proposals_open ON proposals (kind, subject) WHERE outcome IS NULL;

-- Administrators are told of what ends in a person's power, by its entry in the log: the row that records it
-- tells it. src/audit/powers.ts has the table, and a test holds these lists to it. Strangers cause some
-- entries as well (a link for a new password): those are told to no administrator.
CREATE FUNCTION tell_of_power() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_ARGV[0] = 'of staff' AND NOT EXISTS (SELECT FROM users WHERE id = substr(NEW.subject, 6)
    AND role = 'operator') THEN
    RETURN NULL;
  END IF;
  INSERT INTO notices (user_id, email, kind, key, facts, created_at, due_at)
  SELECT u.id, u.email, 'power', concat_ws(':', 'power', NEW.id, u.id), jsonb_build_object(
           'action', NEW.action, 'actor', NEW.actor, 'subject', NEW.subject, 'details', NEW.details,
           'names', (SELECT coalesce(jsonb_object_agg('user:' || n.id, n.name), '{}') FROM users n
             WHERE n.id IN (substr(NEW.actor, 6), substr(NEW.subject, 6)))),
         NEW.at, NEW.at
  FROM users u
  WHERE u.role = 'operator' AND u.status = 'active' AND u.email IS NOT NULL
    AND EXISTS (SELECT FROM staff_roles r WHERE r.user_id = u.id AND r.role = 'administrator')
    AND (SELECT count(*) FROM notices n WHERE n.user_id = u.id AND n.kind = 'power'
      AND n.created_at > NEW.at - interval '1 day') < 200;
  RETURN NULL;
END $$;
CREATE TRIGGER tell_of_power AFTER INSERT ON audit_entries FOR EACH ROW
  WHEN (NEW.action IN (
    'user.role_given', 'user.role_taken', 'provisioning.linked',
    'provider.drafted', 'provider.added', 'provider.changed', 'provider.credential_replaced',
    'provider.removed', 'service.created', 'service.provisioning_set', 'service.reading_set',
    'service.secret_issued',
    'credential.created', 'source.created',
    'source.role_allowed', 'brand.activated', 'brand.returned', 'keys.rotated', 'keys.pruned'))
  EXECUTE FUNCTION tell_of_power();
CREATE TRIGGER tell_of_power_of_staff AFTER INSERT ON audit_entries FOR EACH ROW
  WHEN (NEW.actor <> 'anonymous' AND NEW.subject LIKE 'user:%' AND NEW.action IN (
    'user.created', 'user.enabled', 'user.password_changed', 'user.reset_sent', 'user.email_changed',
    'second_factor.added', 'second_factor.removed', 'second_factor.reset', 'identity.linked'))
  EXECUTE FUNCTION tell_of_power('of staff');
