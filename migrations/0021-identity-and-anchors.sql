-- Of the refused calls that are kept, each caller has a share: the client that proved itself, or the address of who only claimed to be one.
ALTER TABLE refused_calls ADD COLUMN caller text NOT NULL DEFAULT '';

-- No username has the shape of an id, and no partner's name that of a branch id: a word names one of them at most. Who is called so
-- gets another name, and an entry in the log of acts tells which.
CREATE TEMPORARY TABLE renamed_users ON COMMIT DROP AS
  SELECT id, username AS old_name,
    CASE WHEN EXISTS (SELECT FROM users other WHERE other.username = 'user.' || u.username) THEN 'user.' || u.username || '.' || u.id
      ELSE 'user.' || u.username END AS new_name
  FROM users u WHERE username ~ '^id-[a-z0-9]{12}$';
UPDATE users SET username = new_name, updated_at = now() FROM renamed_users r WHERE users.id = r.id;
UPDATE member_invitations SET username = new_name FROM renamed_users r WHERE username = old_name
  AND NOT EXISTS (SELECT FROM member_invitations i WHERE i.branch_id = member_invitations.branch_id AND i.username = r.new_name);
INSERT INTO audit_entries (at, actor, action, subject, details)
  SELECT now(), 'gateway', 'user.renamed', 'user:' || id, jsonb_build_object('from', old_name, 'to', new_name) FROM renamed_users;
ALTER TABLE users ADD CONSTRAINT users_username_is_no_id CHECK (username !~ '^id-[a-z0-9]{12}$') NOT VALID;
ALTER TABLE users VALIDATE CONSTRAINT users_username_is_no_id;

CREATE TEMPORARY TABLE renamed_partners ON COMMIT DROP AS
  SELECT branch_id, name AS old_name, 'Partner ' || name || ' (branch ' || branch_id || ')' AS new_name FROM partners WHERE name ~ '^\d+$';
UPDATE partners SET name = new_name, updated_at = now() FROM renamed_partners r WHERE partners.branch_id = r.branch_id;
INSERT INTO audit_entries (at, actor, action, subject, details)
  SELECT now(), 'gateway', 'partner.renamed', 'branch:' || branch_id, jsonb_build_object('from', old_name, 'to', new_name)
  FROM renamed_partners;
ALTER TABLE partners ADD CONSTRAINT partners_name_is_no_id CHECK (name !~ '^\d+$') NOT VALID;
ALTER TABLE partners VALIDATE CONSTRAINT partners_name_is_no_id;

-- The key that signs the heads of the audit log which are written down outside; sealed.
CREATE TABLE audit_anchor_keys (
  id     integer PRIMARY KEY CHECK (id = 1),
  sealed bytea NOT NULL
);
