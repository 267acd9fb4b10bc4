-- What a member may do: a viewer looks, a developer also changes clients and webhooks, an owner also members and what the partner says of itself.

-- Whoever is a member now may do everything, and so does whoever a node of the release before lets in: it knows members who are equals, and nobody else.
ALTER TABLE partner_members ADD COLUMN role text NOT NULL DEFAULT 'owner';
ALTER TABLE partner_members ADD CONSTRAINT partner_members_role_check CHECK (role IN ('viewer', 'developer', 'owner')) NOT VALID;
ALTER TABLE partner_members VALIDATE CONSTRAINT partner_members_role_check;

-- What a member may do changes with the next request, on every node, as a membership does.
CREATE TRIGGER announce_role AFTER UPDATE ON partner_members FOR EACH ROW
  WHEN (OLD.role IS DISTINCT FROM NEW.role) EXECUTE FUNCTION announce_change('user', 'user_id');

-- Nobody but an owner can make another, so the last one stays, whoever writes. One of the others is held meanwhile as a witness: of two owners who
-- demote each other the second waits for the first, and then finds nobody. By the name of its schema: whoever writes may have another search path.
DO $make$
BEGIN
  EXECUTE format($text$
    CREATE FUNCTION keep_an_owner() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM FROM %1$I.partner_members
      WHERE branch_id = OLD.branch_id AND role = 'owner' AND user_id <> OLD.user_id LIMIT 1 FOR SHARE;
      IF NOT FOUND THEN
        RAISE integrity_constraint_violation USING CONSTRAINT = 'partner_members_keep_an_owner',
          MESSAGE = 'The last owner of a partner can neither be removed nor become something else.';
      END IF;
      RETURN NULL;
    END $$$text$, current_schema());
END $make$;
CREATE TRIGGER keep_an_owner_who_changes AFTER UPDATE ON partner_members FOR EACH ROW
  WHEN (OLD.role = 'owner' AND (NEW.role <> 'owner' OR NEW.branch_id <> OLD.branch_id)) EXECUTE FUNCTION keep_an_owner();
CREATE TRIGGER keep_an_owner_who_leaves AFTER DELETE ON partner_members FOR EACH ROW
  WHEN (OLD.role = 'owner') EXECUTE FUNCTION keep_an_owner();

-- Whom an owner invites by mail. The link is proof enough, and counts once; of its token there is a hash. Nobody made the ones without an inviter
-- but the command line. Beside them are those of the release before, by username (member_invitations): they make owners, as everybody was.
CREATE TABLE invitations (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  branch_id  integer NOT NULL REFERENCES partners,
  email      text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
  role       text NOT NULL CHECK (role IN ('viewer', 'developer', 'owner')),
  token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
  invited_by text REFERENCES users,
  invited_at timestamptz NOT NULL,
  sent_at    timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  CHECK (sent_at >= invited_at),
  CHECK (expires_at > sent_at)
);
CREATE UNIQUE INDEX invitations_of_address ON invitations (branch_id, lower(email));
CREATE INDEX invitations_by_end ON invitations (expires_at);

-- An invitation goes to an address, and nobody knows whether there is a user behind it.
ALTER TABLE notices ALTER COLUMN user_id DROP NOT NULL;
ALTER TABLE notices ADD CONSTRAINT notices_without_user CHECK (user_id IS NOT NULL OR kind = 'invitation') NOT VALID;
ALTER TABLE notices DROP CONSTRAINT notices_kind_check;
ALTER TABLE notices ADD CONSTRAINT notices_kind_check CHECK (kind IN (
  'sign-in', 'application', 'address', 'password', 'second-factor', 'recovery-codes', 'api-token',
  'webhook-failing', 'webhook-disabled', 'secret-expiring', 'partner-decided', 'partner-message', 'invitation', 'member-joined')) NOT VALID;
