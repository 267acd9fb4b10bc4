-- Who of the brokerage's people may do what. `users.role = 'operator'` says that somebody is staff; what they may do follows from the roles here (src/permission.ts).

-- Where a role comes from: given by hand, or by an identity provider at the last sign-in. A provider takes back what it gave, and nothing else.
CREATE TABLE staff_roles (
  user_id  text NOT NULL,
  role     text NOT NULL CHECK (role IN ('viewer', 'support', 'partner-manager', 'webhook-operator', 'security-officer', 'auditor', 'administrator')),
  source   text NOT NULL CHECK (source = 'hand' OR source ~ '^provider:[^ ]{1,100}$'),
  given_at timestamptz NOT NULL,
  PRIMARY KEY (user_id, role, source)
);

-- Whoever runs the gateway now may do everything, as before. First of all, before anything that others use is locked: it reads all users, and holds up nobody meanwhile.
INSERT INTO staff_roles (user_id, role, source, given_at) SELECT id, 'administrator', 'hand', updated_at FROM users WHERE role = 'operator';
ALTER TABLE staff_roles ADD CONSTRAINT staff_roles_user_id_fkey FOREIGN KEY (user_id) REFERENCES users NOT VALID;
ALTER TABLE staff_roles VALIDATE CONSTRAINT staff_roles_user_id_fkey;

-- What somebody may do changes with the next request, on every node.
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON staff_roles FOR EACH ROW EXECUTE FUNCTION announce_change('user', 'user_id');

-- Acts that take two people (four eyes): one proposes exactly what is to be done, on the state in front of them; another decides. Whoever decides does it in
-- the transaction that does the act. One that nobody decided in time counts no more, without anybody writing that down.
CREATE TABLE proposals (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind            text NOT NULL CHECK (kind IN ('partner.approve', 'partner.refresh-access', 'partner.widen-scopes', 'provider.add', 'keys.rotate', 'user.reset-two-factor', 'import.removal')),
  -- Whom or what it is done to, as the audit log has it.
  subject         text NOT NULL,
  act             jsonb NOT NULL,
  state           text NOT NULL,
  reason          text NOT NULL CHECK (length(reason) BETWEEN 1 AND 500),
  proposed_by     text NOT NULL REFERENCES users,
  proposed_at     timestamptz NOT NULL,
  expires_at      timestamptz NOT NULL,
  outcome         text CHECK (outcome IN ('applied', 'declined', 'withdrawn', 'outdated', 'expired')),
  decided_by      text REFERENCES users,
  decided_at      timestamptz,
  decision_reason text CHECK (length(decision_reason) BETWEEN 1 AND 500),
  CHECK (expires_at > proposed_at),
  CONSTRAINT proposals_whole CHECK ((outcome IS NULL) = (decided_at IS NULL) AND (outcome IS NOT NULL OR decided_by IS NULL)),
  -- Whoever writes, nobody approves or declines what they proposed themselves, and only they withdraw it.
  CONSTRAINT proposals_four_eyes CHECK (outcome NOT IN ('applied', 'declined') OR (decided_by IS NOT NULL AND decided_by <> proposed_by)),
  CONSTRAINT proposals_own CHECK (outcome <> 'withdrawn' OR decided_by = proposed_by)
);
-- One at a time of a kind about one thing: of two that contradict each other nobody could approve both.
CREATE UNIQUE INDEX proposals_open ON proposals (kind, subject) WHERE outcome IS NULL;

-- Two kinds of notices more, beside whichever there are.
DO $make$
DECLARE
  known text := (SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint WHERE conname = 'notices_kind_check' AND conrelid = 'notices'::regclass);
BEGIN
  ALTER TABLE notices DROP CONSTRAINT notices_kind_check;
  EXECUTE format($text$ALTER TABLE notices ADD CONSTRAINT notices_kind_check CHECK (%s OR kind IN ('proposal', 'break-glass')) NOT VALID$text$, known);
END $make$;
